"""The package in its process: Ctrl-C, the lock of the interpreter, progress, other processes,
packages that are missing."""
import contextlib
import multiprocessing
import os
import signal
import subprocess
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

import saltus
from saltus import _run
from conftest import ARRIVE, Enough, enough, run_python

# A minute on any machine, in trajectories of a millisecond.
LONG = dict(until=400, points=3, runs=200_000, set={"k": 200.0}, device="cpu", threads=2,
            progress=False)


def interrupt_soon(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def interrupt_when_it_runs():
    """A function for progress: the first call interrupts, however long it took to get there."""
    timers = []
    return lambda fraction: timers or timers.append(interrupt_soon(0.2))


def check_part(result, model):
    n = result.attrs["trajectories"]
    assert 0 < n < LONG["runs"] and result.counts.shape == (n, 3, 1)
    assert not result.is_complete
    some = result.trajectories[:20]  # those of a worker that was interrupted are not among them
    assert (np.diff(some) > 0).all()
    first, end = int(some[0]), int(some[-1]) + 1
    whole = model.run(**{**LONG, "first": first, "runs": end - first})
    np.testing.assert_array_equal(result.counts[:20], whole.counts[some - first])


def test_ctrl_c_keeps_what_had_ended(arrive, tmp_path):
    with pytest.raises(KeyboardInterrupt) as stopped:
        arrive.run(**{**LONG, "progress": interrupt_when_it_runs()})
    assert isinstance(stopped.value, saltus.Interrupted)
    check_part(stopped.value.result, arrive)
    with pytest.raises(saltus.Interrupted) as stopped:
        arrive.run(output=tmp_path / "part.h5", **{**LONG, "progress": interrupt_when_it_runs()})
    assert stopped.value.result.path == str(tmp_path / "part.h5")
    check_part(stopped.value.result, arrive)
    arrive.run(until=1)  # as before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("options", [{"until": 0.1, "runs": 50_000_000}, {"until": 1e9, "runs": 1}])
def test_a_run_on_the_calling_thread_hears_ctrl_c(arrive, options, monkeypatch):
    """Of many short trajectories, and within a long one."""
    carry_out = _run.carry_out

    def interrupted(*given):  # by now it has all that it needs, however long that took
        interrupt_soon(0.5)
        return carry_out(*given)

    monkeypatch.setattr(_run, "carry_out", interrupted)
    with pytest.raises(saltus.Interrupted):
        arrive.run(**options, points=2, threads=1, record="stats", progress=False)


@pytest.mark.parametrize("record", ["all", "final", "histogram"])
@pytest.mark.filterwarnings("error")
def test_statistics_of_no_run_are_nan(arrive, record):
    with pytest.raises(saltus.Interrupted) as stopped:
        arrive.run(**{**LONG, "until": 1e8, "runs": 2, "progress": interrupt_when_it_runs()},
                   record=record)
    r, points = stopped.value.result, () if record == "final" else (3,)
    assert r.attrs["trajectories"] == 0
    for q, shape in ((0.5, ()), ([0.1, 0.9], (2,))):
        assert r.quantile(q).shape == (*shape, *points, 1) and np.isnan(r.quantile(q)).all()
    assert np.isnan(r.mean()).all()
    if record == "all":
        assert r.autocorrelation("X").shape == (3,) and np.isnan(r.autocorrelation("X")).all()


def test_ctrl_c_in_a_batch_keeps_the_first_rows(arrive):
    want = dict(until=100, points=2, runs=50)
    theta = np.linspace(50, 200, 200_000)[:, None]
    with pytest.raises(saltus.Interrupted) as stopped:
        arrive.batch(theta, ["k"], derive="final:X",
                     progress=interrupt_when_it_runs(), **want)
    out = stopped.value.result
    assert 0 < len(out) < len(theta)
    few = arrive.batch(theta[:3], ["k"], derive="final:X", **want)
    np.testing.assert_array_equal(out[:3], few)


def test_ctrl_c_in_a_sweep_keeps_the_first_points(arrive, tmp_path):
    pytest.importorskip("xarray")
    with pytest.raises(saltus.Interrupted) as stopped:
        arrive.sweep({"k": saltus.lin(50, 200, 200_000)}, until=100, points=2, runs=50,
                     progress=interrupt_when_it_runs())
    d = stopped.value.result
    assert 0 < d.sizes["point"] == d.attrs["sweep_points"] < 200_000 and not d.attrs["complete"]
    assert d.attrs["trajectories"] == 50 * d.sizes["point"]
    assert d.attrs["requested"] == 50 * 200_000 and d.attrs["events"] > 0
    pytest.importorskip("plotly")
    saltus.report(d, tmp_path / "part.html")
    assert " of 10,000,000 trajectories are here" in (tmp_path / "part.html").read_text()


def test_ctrl_c_is_pythons_again_behind_a_run_within_a_run(arrive):
    before, told = signal.getsignal(signal.SIGINT), []
    arrive.run(**{**LONG, "runs": 4_000, "progress": lambda _: told.append(
        arrive.run(until=1, set=LONG["set"]))})
    assert told and signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)


class Late(Exception):
    pass


def late(*_):
    raise Late


@contextlib.contextmanager
def handler(number, function):
    before = signal.signal(number, function)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("output", [None, "late.h5"])
@pytest.mark.parametrize("progress", [False, lambda fraction: None, lambda fraction: time.sleep(0.3)])
def test_what_another_signals_handler_raises_stops_the_run(arrive, tmp_path, output, progress):
    """Within the function of progress, or before or behind it."""
    with handler(signal.SIGALRM, late):
        signal.setitimer(signal.ITIMER_REAL, 0.4)
        with pytest.raises(Late) as stopped:
            arrive.run(**{**LONG, "output": output and tmp_path / output, "progress": progress})
    check_part(stopped.value.result, arrive)
    if output:
        check_part(saltus.open(tmp_path / output), arrive)
    assert arrive.run(until=1).is_complete


def test_a_bar_that_breaks_is_no_handlers_matter(arrive, monkeypatch):
    tqdm_auto = pytest.importorskip("tqdm.auto")

    def broken(*_, **__):
        raise OSError("no terminal")

    monkeypatch.setattr(tqdm_auto, "tqdm", broken)
    with handler(signal.SIGTERM, late), pytest.warns(match="could not be drawn: no terminal"):
        assert arrive.run(**{**LONG, "runs": 2_000, "progress": True}).is_complete

    def slow(*_, **__):
        time.sleep(5)

    monkeypatch.setattr(tqdm_auto, "tqdm", slow)
    with handler(signal.SIGALRM, late):
        signal.setitimer(signal.ITIMER_REAL, 0.6)
        with pytest.raises(Late) as stopped:
            arrive.run(**{**LONG, "progress": True})
    check_part(stopped.value.result, arrive)


def test_a_handler_may_raise_while_a_sweep_reads_its_model(arrive, monkeypatch):
    """In the main thread, which reads it to choose a method too."""
    read, at = arrive._parse, []

    def parse():
        at.append(threading.get_ident() == threading.main_thread().ident)
        if len(at) == until:
            signal.raise_signal(signal.SIGUSR1)
        return read()

    class Empty(list):  # so that no model is used again
        def __bool__(self):
            return False

    monkeypatch.setattr(arrive, "_parse", parse)
    monkeypatch.setattr(arrive, "_pool", Empty())
    sweep = {**LONG, "runs": 20, "method": "auto", "set": None, "vary": {"k": [1.0, 2.0, 3.0]}}
    with handler(signal.SIGUSR1, late):
        for until in (1, 2):
            at.clear()
            with pytest.raises(Late):
                arrive.sweep(**sweep)
            assert at == [True] * until
        until = 0
        assert arrive.sweep(**sweep).attrs["complete"]


def test_a_model_that_cannot_be_read_again_ends_a_sweep(arrive, monkeypatch):
    def parse():
        raise ValueError("it is gone")

    monkeypatch.setattr(arrive, "_parse", parse)
    arrive._pool.clear()
    with pytest.raises(saltus.InvalidError, match="it is gone"):
        arrive.sweep({"k": [1.0, 2.0]}, until=1)


def test_a_warning_that_is_an_error_carries_the_result(tmp_path):
    watched = saltus.build(**ARRIVE, events={"lose": {"when": "X > 50", "set": {"X": 0}}})
    for output in (None, tmp_path / "told.h5"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match="events watch the state") as told:
                watched.run(until=1, runs=3, method="tau", output=output)
        assert len(told.value.result.trajectories) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="epsilon steers leaps") as told:
            watched.run(until=1, runs=3, method="direct", epsilon=0.1)
        assert not hasattr(told.value, "result")  # it had not begun


def test_sigterm_may_be_as_ctrl_c(arrive):
    with handler(signal.SIGTERM, signal.default_int_handler):
        threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGTERM)).start()
        with pytest.raises(saltus.Interrupted) as stopped:
            arrive.run(**LONG)
    check_part(stopped.value.result, arrive)


def test_a_handler_that_does_not_raise_is_called_meanwhile(arrive):
    heard = []
    with handler(signal.SIGALRM, lambda *_: heard.append(time.monotonic())):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert arrive.run(**{**LONG, "runs": 4_000}).is_complete
        ended = time.monotonic()
    assert len(heard) == 1 and heard[0] < ended - 0.05


def test_an_outer_run_ends_too_where_a_handler_stops_the_inner_one(arrive):
    runs = []

    def inner(fraction):
        runs.append(fraction)
        arrive.run(**{**LONG, "seed": 2})

    with handler(signal.SIGALRM, late):
        signal.setitimer(signal.ITIMER_REAL, 0.6)
        with pytest.raises(Late) as stopped:
            arrive.run(**{**LONG, "progress": inner})
    assert len(runs) == 1
    check_part(stopped.value.result, arrive)


def test_a_handler_of_ones_own_is_called(arrive):
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        with pytest.raises(saltus.Interrupted):
            arrive.run(**{**LONG, "progress": interrupt_when_it_runs()})
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [1]


def test_other_threads_go_on_meanwhile(arrive):
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.01):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    arrive.run(**{**LONG, "runs": 2000, "threads": 1})
    seconds = time.monotonic() - start
    done.set()
    thread.join()
    assert len(ticks) > 5 * seconds and seconds > 0.1


def test_progress_is_told(arrive):
    told = []
    arrive.run(**{**LONG, "runs": 4_000, "progress": told.append})
    assert told == sorted(told) and len(told) > 1 and 0 <= told[0]
    assert told[-1] == 1 and told.count(1) == 1
    for call in (lambda tell: arrive.run(until=1, progress=tell),
                 lambda tell: arrive.batch([[50.0]], ["k"], 1, progress=tell)):
        told = []
        call(told.append)
        assert told == [1]  # however short it was


@pytest.mark.parametrize("is_main", [True, False])
@pytest.mark.parametrize("output", [None, "part.h5"])
def test_what_progress_raises_stops_the_run(arrive, tmp_path, output, is_main):
    """A file and the exception's result hold what had ended, in any thread."""
    def use():
        with pytest.raises(Enough, match="no more") as stopped:
            arrive.run(**{**LONG, "progress": enough}, output=output and tmp_path / output)
        check_part(stopped.value.result, arrive)
        assert stopped.value.result.path == (output and str(tmp_path / output))

    if is_main:
        use()
    else:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(use).result()
    if output:
        check_part(saltus.open(tmp_path / output), arrive)
    assert arrive.run(until=1).is_complete
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_progress_raises_stops_batches_and_sweeps(arrive):
    pytest.importorskip("xarray")
    theta = np.linspace(50, 200, 200_000)[:, None]
    with pytest.raises(Enough) as stopped:
        arrive.batch(theta, ["k"], 100, points=2, runs=50, derive="final:X", progress=enough)
    assert 0 <= len(stopped.value.result) < len(theta)
    with pytest.raises(Enough) as stopped:
        arrive.sweep({"k": theta[:, 0]}, 100, points=2, runs=50, progress=enough)
    assert not stopped.value.result.attrs["complete"]


def test_what_progress_raises_stops_no_run_around_it(arrive):
    told = []

    def within(fraction):
        with pytest.raises(Enough):
            arrive.run(**{**LONG, "progress": enough})
        told.append(fraction)

    r = arrive.run(**{**LONG, "runs": 4_000, "progress": within})
    assert told and r.is_complete


def test_a_bar_that_cannot_be_drawn_stops_nothing(arrive, monkeypatch):
    tqdm = pytest.importorskip("tqdm.auto")

    class Broken:
        n = 0.0

        def __init__(self, *_, **__):
            pass

        def update(self, _):
            raise OSError("broken pipe")

        close = None

    monkeypatch.setattr(tqdm, "tqdm", Broken)
    with pytest.warns(UserWarning, match="the progress bar could not be drawn: broken pipe"):
        assert arrive.run(**{**LONG, "runs": 4_000, "progress": True}).is_complete


def test_progress_leaves_alone_what_is_in_use(arrive, tmp_path):
    file = arrive.run(until=1, output=tmp_path / "other.h5")
    want = {**LONG, "runs": 6_000, "set": {"k": 120}}
    expected = arrive.run(**want)["X"].copy()
    for use in (arrive.info, arrive.close, lambda: arrive.run(until=1, set={"k": 1})):
        with pytest.raises(saltus.InvalidError, match="is being simulated"):
            arrive.run(**{**want, "progress": lambda fraction: use()})
    with pytest.raises(saltus.InvalidError, match="cannot read or write result files"):
        arrive.run(**{**want, "progress": lambda fraction: file.counts}, output=tmp_path / "o.h5")
    assert len(saltus.open(tmp_path / "o.h5").trajectories) < 6_000
    told = []
    again = arrive.run(**{**want, "progress": lambda _: told.append(
        (arrive.name, file.counts, arrive.run(until=1, set={"k": 120})))})
    np.testing.assert_array_equal(again["X"], expected)
    assert told and arrive.run(until=1, set={"k": 1}).is_complete


def test_progress_is_a_bar(arrive, capfd):
    pytest.importorskip("tqdm")
    arrive.run(**{**LONG, "runs": 4_000, "progress": True})
    assert "%|" in capfd.readouterr().err
    arrive.run(**{**LONG, "runs": 4_000, "progress": None})
    assert capfd.readouterr().err == ""  # this is no terminal


def simulate(model, seed):
    return model.run(until=2, points=3, runs=10, seed=seed)


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
def test_models_and_results_go_between_processes(arrive, way):
    simulate(arrive, 0)  # what a fork finds in its memory
    with multiprocessing.get_context(way).Pool(2) as pool:
        results = pool.starmap(simulate, [(arrive, seed) for seed in range(4)])
    for seed, r in enumerate(results):
        np.testing.assert_array_equal(r.counts, simulate(arrive, seed).counts)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("output", [None, "long.h5"])
def test_a_fork_beside_a_run_waits_for_no_thread_of_the_parent(arrive, tmp_path, output):
    """In the child the thread that simulates is not there, nor what it would let go of."""
    file, running = arrive.run(until=1, output=tmp_path / "other.h5"), threading.Event()
    expected = simulate(arrive, 3).counts.copy()

    def until_told(fraction):
        running.set()
        if told.is_set():
            raise Enough

    told = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(lambda: arrive.run(**{**LONG, "progress": until_told},
                                             output=output and tmp_path / output))
        assert running.wait(60)
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(60)
                right = (simulate(arrive, 3).counts == expected).all()
                try:
                    file.counts
                    right = right and output is None
                except saltus.UnavailableError as failure:
                    right = right and output is not None and "was forked" in str(failure)
                os._exit(0 if right else 1)
            finally:
                os._exit(2)
        _, code = os.waitpid(child, 0)
        told.set()
        with pytest.raises(Enough):
            run.result()
    assert code == 0


def test_dask_sends_models_and_results(arrive):
    distributed = pytest.importorskip("dask.distributed")
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        model = client.scatter(arrive, broadcast=True)
        parts = client.map(lambda m, first: m.run(until=8, points=5, runs=100, first=first,
                                                  threads=1, record="final"),
                           [model] * 4, range(0, 400, 100))
        x = np.concatenate([r["X"] for r in client.gather(parts)])
    np.testing.assert_array_equal(x, arrive.run(until=8, points=5, runs=400)["X"][:, -1])


def test_missing_packages_are_named(tmp_path):
    code = f"""
import sys
for name in ("xarray", "pandas", "tqdm", "matplotlib", "h5py"):
    sys.modules[name] = None
import saltus
m = saltus.build(**{ARRIVE!r})
r = m.run(until=1, runs=3)
for use, name in ((r.to_xarray, "xarray"), (r.to_pandas, "pandas"),
                  (lambda: m.run(until=1, progress=True), "tqdm"),
                  (lambda: m.sweep({{"k": [1.0]}}, until=1), "xarray"),
                  (lambda: m.run(until=1, output="missing.h5"), "h5py")):
    try:
        use()
    except saltus.UnavailableError as failure:
        assert name in str(failure) and failure.hint == f"pip install {{name}}", str(failure)
    else:
        raise AssertionError(name)
import os
assert not os.path.exists("missing.h5")
"""
    done = run_python(code, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("use", [
    "saltus.read(path)", "saltus.open(path)", "main(['plot', path, 'output', 'x.png'])",
    "main(['report', path, 'output', 'x.html'])"])
@pytest.mark.parametrize("path, said", [("pipe", "a named pipe"), ("/dev/zero", "a device"),
                                        ("folder", "a folder")])
def test_what_is_no_file_is_refused_not_waited_for(tmp_path, use, path, said):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    pytest.importorskip("h5py")
    end = run_python("import resource, saltus, signal\nfrom saltus.__main__ import main\n"
                     "signal.alarm(30)\nsize = 1 << 32\n"
                     "resource.setrlimit(resource.RLIMIT_AS, (size, size))\n"
                     f"path = {path!r}\ntry:\n    code = {use}\n    assert code == 2\n"
                     "except OSError as failure:\n    print(failure)\n", tmp_path)
    assert end.returncode == 0, end.stderr
    assert f"{path}: cannot be read: it is {said}, not a file\n" in (end.stdout or end.stderr)


def test_a_pipe_is_no_place_for_a_figure(tmp_path):
    os.mkfifo(tmp_path / "x.png")
    end = run_python("import signal\nfrom saltus.__main__ import main\nsignal.alarm(30)\n"
                     "assert main(['plot', 'none.h5', 'output', 'x.png']) == 2\n", tmp_path)
    assert end.returncode == 0, end.stderr
    assert end.stderr == "saltus: x.png: exists and is a named pipe\n"


def test_a_notebook_without_widgets_gets_a_bar_of_text(tmp_path):
    pytest.importorskip("tqdm")
    code = f"""
import sys, types
class Shell:
    config = {{"IPKernelApp": {{}}}}
sys.modules["ipykernel"] = types.ModuleType("ipykernel")
sys.modules["IPython"] = types.ModuleType("IPython")
sys.modules["IPython"].get_ipython = Shell
sys.modules["ipywidgets"] = None
import saltus
m = saltus.build(**{ARRIVE!r})
m.run(until=400, points=3, runs=4000, set={{"k": 200.0}})
"""
    done = run_python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "%|" in done.stderr and "Warning" not in done.stderr


def test_import_is_quick(tmp_path):
    """It takes 30 ms beyond numpy's; here the bound is wide, as machines are busy."""
    code = """
import numpy, time
start = time.process_time()
import saltus
print((time.process_time() - start) * 1e3)
import sys
assert not {"h5py", "xarray", "pandas", "tqdm", "matplotlib"} & set(sys.modules)
"""
    times = []
    for _ in range(4):  # the first one compiles
        done = run_python(code, tmp_path, PYTHONDONTWRITEBYTECODE="", PYTHONPYCACHEPREFIX=str(tmp_path))
        assert done.returncode == 0, done.stderr
        times.append(float(done.stdout))
    assert min(times) < 200, times


@pytest.mark.parametrize("verb, axis", [("run", []), ("sweep", ["--vary=k=list:20,20"])])
def test_what_takes_long_is_told_at_the_beginning(verb, axis, tmp_path):
    """In the words of the command; as an error it prevents the run."""
    pytest.importorskip("xarray")
    program = os.environ.get("SALTUS_COMMAND")
    if not program:
        pytest.skip("SALTUS_COMMAND does not name the command")
    (tmp_path / "arrive.yaml").write_text(saltus.build(**ARRIVE).to_yaml())
    with subprocess.Popen([program, verb, tmp_path / "arrive.yaml", *axis, "--until=1e12", "--runs=50",
                           "--points=2", "--device=cpu", "-o", tmp_path / "o.h5"], text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        end = threading.Timer(60.0, running.kill)
        end.start()
        told = next((line for line in running.stderr if "expected" in line), "nothing")
        running.kill()
        running.communicate()
        end.cancel()
    want = dict(until=1e12, points=2, runs=50, device="cpu", progress=enough)
    calls = {"run": [lambda m: m.run(**want)],
             "sweep": [lambda m: m.sweep({"k": [20, 20]}, **want),
                       lambda m: m.batch([[20], [20]], ["k"], **want)]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in calls[verb]:
            with pytest.raises(UserWarning, match="help: .*fewer trajectories") as said:
                call(saltus.build(**ARRIVE))
            assert str(said.value).partition(" help:")[0] in told


def test_a_forecast_is_told_in_the_name_of_the_caller():
    with pytest.warns(UserWarning, match="expected to take about ") as said:
        with pytest.raises(Enough):
            saltus.build(**ARRIVE).run(until=1e12, points=2, runs=50, device="cpu", progress=enough)
    assert len(said) == 1 and said[0].filename == __file__


def test_forecasts_take_a_small_part_of_many_short_runs(arrive, monkeypatch):
    made, now = [], [0.0]
    monkeypatch.setattr(_run.time, "perf_counter", lambda: now[0])

    def make():
        made.append(now[0])
        now[0] += 1.0
        return SimpleNamespace(seconds=1.0)
    for _ in range(100):
        arrive._forecasts.give(make)
        now[0] += 1.0
    assert made[:3] == [0.0, 11.0, 22.0] and len(made) == 10
