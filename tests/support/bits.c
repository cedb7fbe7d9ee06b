#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bits.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const models[] = {
    "species: {S1: 300, S2: 0, S3: 0}\n"
    "reactions:\n"
    "  a: S1 -> 0 @ 1.0\n"
    "  b: 2 S1 -> S2 @ 0.002\n"
    "  c: S2 -> 2 S1 @ 0.5\n"
    "  d: S2 -> S3 @ 0.04\n",

    "species: {X: 25, Y: 3}\n"
    "parameters: {k: 0.18, V: 6, Km: 5}\n"
    "rules: {total: X + Y, soft: tanh(total/50)}\n"
    "reactions:\n"
    "  r1: 2 X -> 3 X @ k\n"
    "  r2: 3 X -> 2 X @ 2.4e-3\n"
    "  r3: 0 -> X @ 22*(1 + soft)\n"
    "  r4: X -> 0 @ 3.8\n"
    "  r5: 0 -> Y @ 8/(1 + (Y/10)^2) + exp(-X/40) + ln(1 + X)*0.1\n"
    "  r6: Y -> 0 @ V*Y/(Km + Y)\n"
    "  r7: X + Y -> Y @ piecewise(0.01*X*Y, X > 30, 0.002*X*Y)\n",

    "species: {A: 50, B: 0, C: 0}\n"
    "parameters: {k: 1, dose: 20}\n"
    "reactions:\n"
    "  a: A -> B @ k*A*piecewise(2, time >= 1.25, 1)\n"
    "  b: B -> A @ 0.7\n"
    "  c: 0 -> C @ 5\n"
    "  d: C -> 0 @ 0.1\n"
    "events:\n"
    "  once: {at: 2, set: {A: A + dose}}\n"
    "  late: {at: 0.5, delay: 1.1, set: {B: B + 0.5*C, k: k*1.5}}\n"
    "  same: {at: 3, priority: 1, set: {C: 2*C}}\n"
    "  time: {at: 3, priority: 1, set: {C: C + 7}}\n",

    "species: {P: 100, P2: 0, N: 0}\n"
    "parameters: {last: 0}\n"
    "reactions:\n"
    "  bind: 2 P -> P2 @ 0.01\n"
    "  part: P2 -> 2 P @ 0.1\n"
    "events:\n"
    "  reset: {when: P2 > 30, set: {P: 100, P2: 0, last: time}}\n"
    "  count: {when: P2 > 25, delay: 0.3, set: {N: N + 1}, persistent: false}\n"
    "  quiet: {when: time - last > 1.5 && N > 0, set: {N: N - 1, last: time}}\n",
};
/* With further parameters. */
#define DRIFTING(parameters)                                                                  \
    "species: {A: 40, B: 3, C: 0}\nparameters: {k: 2" parameters "}\n"                        \
    "rules: {wave: 1 + sin(3*time), slow: wave*A/(10 + A), day: \"rem(time, 2) < 1\",\n"      \
    "  dose: \"linear(time, 0, 0, 1, 2, 3.5, 1, inf, 0)\"}\n"                                 \
    "reactions:\n"                                                                            \
    "  a: 0 -> A @ 10*wave\n  b: A -> B @ k*slow\n  c: B -> C @ 0.3*day*B\n"                  \
    "  d: C -> 0 @ 0.2\n  e: A + B -> C @ 0.01*A*B*exp(-time/3)\n  f: 0 -> B @ "              \
    "dose*abs(cos(time))\n"                                                                   \
    "  g: 2 A -> B @ 0.001*time*A*(A - 1)\n  h: C -> A @ C*piecewise(time, time < 3, 3)/10\n" \
    "  i: B -> A @ 0.1\n  j: 0 -> C @ A/(1 + time)\n"                                         \
    "  k: 0 -> C @ spline(time, 0, 1, 1, 3, 4, 0.5, 5, 1, inf, 0)\n"                          \
    "events:\n  e1: {when: C > 20, set: {k: k + time/10, C: 5}}\n"                            \
    "  e2: {at: 2.5, set: {A: A + 10}}\n"

const char bits_drifting[] = DRIFTING("");
const char bits_bending[] = DRIFTING(
    ", y: 0, z: 0") "rate rules: {y: dose*day - y, z: \"y*held(time, 0, 1, 1.3, 2, 99, 3)\"}\n";

_Static_assert(sizeof models / sizeof *models == N_BITS_MODELS, "the number of models");

saltus_model *bits_copies(int n)
{
    saltus_error err = {0};
    saltus_model *m = NULL;
    OK(saltus_model_create("copies", &m, &err));
    for (int i = 0; i < n; ++i) {
        char a[20], b[20], c[20], equation[80], id[20];
        (void)snprintf(a, sizeof a, "A%d", i);
        (void)snprintf(b, sizeof b, "B%d", i);
        (void)snprintf(c, sizeof c, "C%d", i);
        OK(saltus_model_add_species(m, a, 40 + i % 7, &err));
        OK(saltus_model_add_species(m, b, 0, &err));
        OK(saltus_model_add_species(m, c, 0, &err));
        (void)snprintf(id, sizeof id, "decay%d", i);
        (void)snprintf(equation, sizeof equation, "%s -> 0", a);
        OK(saltus_model_add_reaction(m, id, equation, "0.1", &err));
        (void)snprintf(id, sizeof id, "bind%d", i);
        (void)snprintf(equation, sizeof equation, "2 %s -> %s", a, b);
        OK(saltus_model_add_reaction(m, id, equation, "0.02", &err));
        (void)snprintf(id, sizeof id, "part%d", i);
        (void)snprintf(equation, sizeof equation, "%s -> 2 %s", b, a);
        OK(saltus_model_add_reaction(m, id, equation, "0.5", &err));
        (void)snprintf(id, sizeof id, "move%d", i);
        (void)snprintf(equation, sizeof equation, "%s -> %s", b, c);
        OK(saltus_model_add_reaction(m, id, equation, "0.04", &err));
    }
    OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
    return m;
}

saltus_model *bits_parse(const char *text)
{
    saltus_error err = {0};
    saltus_model *m = NULL;
    OK(saltus_model_parse_yaml(text, strlen(text), "test", &m, &err));
    OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
    return m;
}

saltus_model *bits_parse_stream(FILE *out, char **text)
{
    assert_int_equal(fclose(out), 0);
    saltus_model *m = bits_parse(*text);
    free(*text);
    return m;
}

saltus_model *bits_model(int i)
{
    return bits_parse(models[i]);
}

const char bits_alike[] =
    "species: {A0: 20, B0: 0, A1: 30, B1: 0, A2: 40, B2: 0, C: 0}\nparameters: {k: 1}\nreactions:\n"
    "  a0: 0 -> A0 @ 5\n  b0: A0 -> B0 @ 1\n  c0: B0 -> A0 @ 0.5\n  d0: 2 A0 -> B0 @ 0.01\n"
    "  e0: B0 -> 2 A0 @ 0.1\n  f0: A0 -> 0 @ 0.1\n  g0: B0 -> 0 @ 0.1\n  h0: A0 + B0 -> B0 @ 0.01\n"
    "  a1: 0 -> A1 @ 5\n  b1: A1 -> B1 @ 1\n  c1: B1 -> A1 @ 0.5\n  d1: 2 A1 -> B1 @ 0.01\n"
    "  e1: B1 -> 2 A1 @ 0.1\n  f1: A1 -> 0 @ 0.1\n  g1: B1 -> 0 @ 0.1\n  h1: A1 + B1 -> B1 @ 0.01\n"
    "  a2: 0 -> A2 @ 5\n  b2: A2 -> B2 @ 1\n  c2: B2 -> A2 @ 0.5\n  d2: 2 A2 -> B2 @ 0.01\n"
    "  e2: B2 -> 2 A2 @ 0.1\n  f2: A2 -> 0 @ 0.1\n  g2: B2 -> 0 @ 0.1\n  h2: A2 + B2 -> B2 @ 0.01\n"
    "  x: A0 -> C @ k*A0/(1 + A1)\n"
    "events:\n  cut: {when: A0 + B1 > 45, set: {A0: A0/2, B1: 0, k: k + 1}}\n"
    "  add: {at: 0.5, delay: 0.8, set: {A2: A2 + C}}\n";

const char *const bits_generators[N_BITS_GENERATORS] = {"philox", "xorwow", "mrg32k3a", "mt19937"};

const char *const bits_devices[N_BITS_DEVICES] = {"cpu:generic", "cpu:avx2", "cpu:avx512"};

bool bits_has(const char *device)
{
    saltus_error err = {0};
    saltus_backend *backend = NULL;
    const saltus_status status = saltus_backend_open(device, &backend, &err);
    if (status != SALTUS_OK && status != SALTUS_E_UNAVAILABLE) {
        fail_msg("%s: %s", device, err.message);
    }
    saltus_backend_close(backend);
    return status == SALTUS_OK;
}

saltus_plan_options bits_plan(const char *method, const char *rng, const char *layout, int threads)
{
    saltus_plan_options plan = saltus_plan_options_default();
    plan.method = method;
    plan.rng = rng;
    plan.layout = layout;
    plan.n_threads = threads;
    return plan;
}

uint64_t bits_hash(saltus_model *model, const char *device, const char *layout, int threads,
                   int64_t first, int64_t n, const double *times, int64_t n_times)
{
    return bits_hash_rng(model, "philox", device, layout, threads, first, n, times, n_times);
}

uint64_t bits_hash_rng(saltus_model *model, const char *rng, const char *device, const char *layout,
                       int threads, int64_t first, int64_t n, const double *times, int64_t n_times)
{
    const saltus_plan_options plan = bits_plan("direct", rng, layout, threads);
    return bits_hash_plan(model, device, &plan, first, n, times, n_times);
}

uint64_t bits_hash_plan(saltus_model *model, const char *device, const saltus_plan_options *plan,
                        int64_t first, int64_t n, const double *times, int64_t n_times)
{
    return bits_hash_report(model, device, plan, first, n, times, n_times, NULL);
}

uint64_t bits_hash_report(saltus_model *model, const char *device, const saltus_plan_options *plan,
                          int64_t first, int64_t n, const double *times, int64_t n_times,
                          saltus_run_report *report)
{
    saltus_error err = {0};
    moments m = {0};
    saltus_run_options run = saltus_run_options_default();
    run.seed = 42;
    run.first_trajectory = first;
    run.n_trajectories = n;
    run.times = times;
    run.n_times = n_times;
    if (run_plan(model, device, plan, &run, &m, &err) != SALTUS_OK) {
        fail_msg("%s %s %s %s: %s", device, plan->method, plan->layout, plan->rng, err.message);
    }
    assert_true(m.n == n && m.hash != 0);
    const int64_t counted[] = {m.report.events, m.report.leaps, m.report.exact_steps};
    uint64_t hash = m.hash;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; ++i) {
        hash = (hash ^ (uint64_t)counted[i]) * UINT64_C(0x9E3779B97F4A7C15);
    }
    if (report) {
        *report = m.report;
    }
    moments_free(&m);
    return hash;
}

void bits_refused(saltus_model *model, const char *device, const saltus_plan_options *wanted)
{
    saltus_error err = {0};
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    OK(saltus_backend_open(device, &backend, &err));
    const saltus_status status = saltus_plan_create(model, backend, wanted, &plan, &err);
    char says[60];
    (void)snprintf(says, sizeof says, "layout '%s' does not fit", wanted->layout);
    if (status != SALTUS_E_INVALID || !strstr(err.message, says)) {
        fail_msg("%s takes layout %s: %d, %s", device, wanted->layout, (int)status, err.message);
    }
    saltus_backend_close(backend);
}

/* Laws vanish with what they consume, so that no count becomes negative. */
saltus_model *bits_random(int n, bool events, uint64_t seed)
{
    static const char *const factors[] = {"1",
                                          "w",
                                          "R1",
                                          "1/(1 + R0)",
                                          "exp(-X1/40)",
                                          "(0.5 + tanh(X2/9))",
                                          "piecewise(1, time < 1.5, 2)"};
    uint64_t random = seed;
    const int n_species = 4 + n / 2;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fprintf(out, "parameters: {w: 2}\nspecies:\n");
    for (int s = 0; s < n_species; ++s) {
        fprintf(out, "  X%d: {initial: %d, boundary: %s}\n", s, 20 + s % 5,
                s % 7 == 3 ? "true" : "false");
    }
    fprintf(out, "rules:\n  R1: R0*w/50\n  R0: X0 + X2\n");
    if (events) {
        fprintf(out, "events:\n  e: {at: 1, set: {w: 3, X3: 1}}\n"
                     "  late: {at: 0.5, delay: 1.1, set: {X1: X1 + 0.3*X0}}\n");
    }
    fprintf(out, "reactions:\n");
    for (int r = 0; r < n; ++r) {
        const int a = below(&random, n_species), b = below(&random, n_species);
        const int c = below(&random, n_species);
        fprintf(out, "  r%d: X%d -> X%d @ ", r, a, b);
        if (below(&random, 2) > 0) {
            fprintf(out, "0.5\n");
        } else {
            fprintf(out, "0.1*X%d*%s\n", a, factors[below(&random, events ? 7 : 6)]);
        }
        ++r;
        if (r < n) {
            fprintf(out, "  r%d: X%d + X%d -> X%d @ 0.01\n", r, a, b, c);
        }
    }
    return bits_parse_stream(out, &text);
}

saltus_model *bits_motifs(int n, int n_motif, int n_extra, uint64_t seed)
{
    static const char *const shapes[] = {"0 -> P",     "P -> 0",         "P -> Q",
                                         "2 P -> Q",   "P + Q -> R",     "Q -> 2 P",
                                         "3 P -> 2 P", "P + 2 Q -> 2 R", "R -> P + Q"};
    uint64_t random = seed;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fprintf(out, "species:\n");
    for (int s = 0; s < 4 * n; ++s) {
        fprintf(out, "  X%d: %d\n", s, 10 + s % 13);
    }
    fprintf(out, "reactions:\n");
    for (int r = 0; r < n * n_motif + n_extra; ++r) {
        /* the extra ones are no copies */
        const bool is_extra = r >= n * n_motif;
        uint64_t own = seed + (uint64_t)(is_extra ? r : r % n_motif);
        const int first = is_extra ? 0 : r / n_motif * 4, range = is_extra ? 4 * n : 4;
        const char *shape = shapes[below(&own, 9)];
        const int start = below(&own, range);
        fprintf(out, "  r%d: ", r);
        for (const char *c = shape; *c; ++c) {
            if (*c >= 'P' && *c <= 'R') {
                fprintf(out, "X%d", first + (start + *c - 'P') % range);
            } else {
                fputc(*c, out);
            }
        }
        const int k = 1 + (r % 3 == 0 ? below(&random, 9) : 0);
        fprintf(out, " @ %g\n", shape[0] == '0' ? 3.0 * k : strlen(shape) > 6 ? 0.01 * k : 0.2 * k);
    }
    return bits_parse_stream(out, &text);
}

saltus_model *bits_mixed(int n, const char *more)
{
    static const struct {
        const char *equation; /* of three species */
        double rate;
    } shapes[] = {{"%1$s -> %2$s", 0.4},
                  {"%1$s + %2$s -> %3$s", 0.02},
                  {"2 %1$s -> %3$s", 0.03},
                  {"%3$s -> %1$s + %2$s", 0.25},
                  {"0 -> %2$s", 3.0},
                  {"%1$s + %2$s -> %2$s", 0.01},
                  {"%1$s -> 2 %2$s + %3$s", 0.05},
                  {"%1$s + %3$s -> 2 %3$s", 0.007},
                  {"%3$s -> 0", 0.3}};
    char text[8000] = "species: {B: 0, ", equation[80];
    size_t length = strlen(text);
    for (int i = 0; i < n / 2; ++i) {
        length += (size_t)snprintf(text + length, sizeof text - length, "A%d: %d%s", i, 12 + i % 9,
                                   i + 1 < n / 2 ? ", " : "}\nreactions:\n");
    }
    for (int i = 0; i < n; ++i) {
        const size_t shape = (size_t)(5 * i + i / 9) % (sizeof shapes / sizeof *shapes);
        char names[3][16];
        for (int k = 0; k < 3; ++k) {
            (void)snprintf(names[k], sizeof names[k], "A%d", (7 * i + i / 5 + 3 * k) % (n / 2));
        }
        (void)snprintf(equation, sizeof equation, shapes[shape].equation, names[0], names[1],
                       names[2]);
        length += (size_t)snprintf(text + length, sizeof text - length, "  r%d: %s @ %g\n", i,
                                   equation, shapes[shape].rate * (1 + i % 4));
    }
    (void)snprintf(text + length, sizeof text - length, "%s", more);
    return bits_parse(text);
}
