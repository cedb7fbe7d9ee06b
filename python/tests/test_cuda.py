"""A GPU, or one that is simulated, gives the bits of the CPU."""
import os

import numpy as np
import pytest

import saltus


@pytest.fixture(scope="module")
def cuda():
    """Skipped where there is no GPU."""
    try:
        saltus.build(species={"A": 1}, reactions={"r": "A -> 0 @ 1"}).run(until=1, device="cuda")
    except saltus.UnavailableError as failure:
        pytest.skip(failure.message)
    return "cuda"


def test_a_run_has_the_same_bits(cuda, arrive):
    want = dict(until=2, points=4, runs=50, derive="mean:X", set={"X": 7})
    there, here = arrive.run(device=cuda, **want), arrive.run(device="cpu", **want)
    assert there.attrs["device"].startswith("cuda") and here.attrs["device"].startswith("cpu")
    np.testing.assert_array_equal(there.counts, here.counts)
    np.testing.assert_array_equal(there["mean:X"], here["mean:X"])
    for record in ("stats", "final", "histogram"):
        a, b = (arrive.run(device=d, record=record, **want) for d in (cuda, "cpu"))
        np.testing.assert_array_equal(a.var(), b.var())
        np.testing.assert_array_equal(a["mean:X"], b["mean:X"])
    np.testing.assert_array_equal(a.histogram("X")[1], b.histogram("X")[1])


def test_a_forked_process_is_refused(cuda, arrive):
    """CUDA does not survive a fork: such a process crashed, or waited for ever."""
    want = dict(until=2, points=4, runs=50)
    arrive.run(device=cuda, **want)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        for model in (arrive, saltus.build(species={"A": 1}, reactions={"r": "A -> 0 @ 1"})):
            try:
                model.run(device=cuda, **want)
                os.write(write, b"no error")
            except saltus.UnavailableError as failure:
                os.write(write, failure.message.encode() + b"|")
            model.run(device="cpu", **want)
            model.close()
        os._exit(7)
    os.close(write)
    with os.fdopen(read) as said:
        assert said.read() == 2 * ("this process was forked when GPUs were in use, and cannot use "
                                   "any|")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_batch_has_the_same_bits(cuda, arrive):
    theta = np.column_stack([np.linspace(1, 30, 40), np.linspace(0.1, 2, 40)])
    want = dict(until=2, points=4, runs=3)
    for derive in (None, "final:X,mean:X"):
        there, here = (arrive.batch(theta, ["k", "g"], derive=derive, device=d, **want)
                       for d in (cuda, "cpu"))
        np.testing.assert_array_equal(there, here)
    final = arrive.batch(theta, ["k", "g"], record="final", device=cuda, **want)
    np.testing.assert_array_equal(final[..., 0], there[..., 0])
