#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/hdf5_sets.h"
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char small_lattice[] = "species: {A: 30, B: 0}\n"
                                    "reactions:\n"
                                    "  turn: A -> B @ 2\n"
                                    "lattice:\n"
                                    "  size: [6, 5, 9]\n"
                                    "  spacing: 10 nm\n"
                                    "  step: 0.001\n"
                                    "  diffusion: {A: 1e-15 m2/s, B: 1e-15 m2/s}\n";

/* Planes that do not divide, a ring, sources in sites and at a face, two types of sites of which
 * one reacts also when it is empty, and more particles crossing than one message holds. */
static const char ring[] = "species: {A: 90000, B: 0}\n"
                           "reactions: {turn: A + A -> B, back: B -> A + A, new: 0 -> A}\n"
                           "lattice:\n"
                           "  size: [12, 9, 7]\n"
                           "  spacing: 10 nm\n"
                           "  step: 0.00005\n"
                           "  faces: {x: reflecting, y: periodic, z: periodic}\n"
                           "  diffusion: {A: 3e-13 m2/s, B: 1e-13 m2/s}\n"
                           "  reactions:\n"
                           "    turn: {space: 1e3 1/(M s)}\n"
                           "    back: {space: 20 1/s}\n"
                           "    new: {space: 1e-4 M/s}\n";
static const char faces[] =
    "species: {A: 0, B: 300}\n"
    "reactions:\n"
    "  turn: A + B -> B\n"
    "  new: 0 -> A\n"
    "  grow: {equation: 0 -> B, law: 20 / (1 + B)}\n"
    "lattice:\n"
    "  size: [9, 12, 11]\n"
    "  spacing: 10 nm\n"
    "  step: 0.00005\n"
    "  sites:\n"
    "    space:\n"
    "    wall: {box: {from: [0 nm, 0 nm, 30 nm], to: [40 nm, 90 nm, 80 nm]}}\n"
    "  faces: {x: periodic, y: reflecting, z-: absorbing, z+: {A: 300 uM}}\n"
    "  diffusion: {A: 3e-13 m2/s, B: 1e-13 m2/s}\n"
    "  place: {B: space}\n"
    "  reactions:\n"
    "    turn: {space: 1e7 1/(M s)}\n"
    "    new: {wall: 1e-4 M/s}\n"
    "    grow: wall\n";

/* Counts that outgrow 4 bits, then 8; and a law that is negative where two meet. */
static const char grow[] = "species: {A: 0, B: 0}\n"
                           "reactions: {turn: A + A -> B, new: 0 -> A}\n"
                           "lattice:\n"
                           "  size: [8, 8, 9]\n"
                           "  spacing: 10 nm\n"
                           "  step: 0.00005\n"
                           "  faces: {x: periodic, y: reflecting, z: reflecting}\n"
                           "  diffusion: {A: 3e-13 m2/s, B: 1e-13 m2/s}\n"
                           "  reactions: {turn: {space: 1e3 1/(M s)}, new: {space: 120 M/s}}\n";
static const char bad[] = "species: {A: 60}\n"
                          "reactions: {r: {equation: A -> 0, law: 1.5 - A}}\n"
                          "lattice:\n"
                          "  size: [8, 8, 9]\n"
                          "  spacing: 10 nm\n"
                          "  step: 0.00005\n"
                          "  faces: {x: periodic, y: reflecting, z: reflecting}\n"
                          "  diffusion: {A: 3e-13 m2/s}\n";

void use_ranks(int n)
{
    char number[12];
    (void)snprintf(number, sizeof number, "%d", n);
    assert_int_equal(setenv("RANKS", number, 1), 0);
}

int enter_with_ranks(void **state)
{
    char path[4300], folder[4096];
    if (enter_with_models(state) != 0 || !getcwd(folder, sizeof folder)) {
        return -1;
    }
    keep_results();
    write_file("lattice.yaml", small_lattice);
    write_file("ring.yaml", ring);
    write_file("faces.yaml", faces);
    write_file("grow.yaml", grow);
    write_file("bad.yaml", bad);
    write_file("command", "#!/bin/sh\n"
                          "[ \"$RANKS\" = 0 ] && exec \"$SALTUS_ITSELF\" \"$@\"\n"
                          "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 exec mpirun "
                          "--oversubscribe -n $RANKS \"$SALTUS_ITSELF\" \"$@\"\n");
    (void)snprintf(path, sizeof path, "%s/command", folder);
    (void)unsetenv("SALTUS_MPI");
    use_ranks(0);
    return chmod("command", 0700) == 0 && setenv("SALTUS_COMMAND", path, 1) == 0 ? 0 : -1;
}

void need_mpirun(void)
{
    if (system("command -v mpirun >/dev/null") != 0) {
        (void)fprintf(stderr, "SKIP: mpirun is not here\n");
        skip();
    }
}

void need_units(void)
{
    use_ranks(0);
    if (saltus("run lattice.yaml --until 0.01 --runs 1").code != 0) {
        skip();
    }
}

void same_by_all(const char *command, const char *more, const int *counts, int n_counts,
                 int least_sets)
{
    use_ranks(0);
    outcome o = saltus("%s -q -o one.h5", command);
    assert_done(&o);
    const int stride = takes_part() ? n_counts : 1; /* else one of them alone */
    for (int i = stride / 2; i < n_counts; i += stride) {
        use_ranks(counts[i]);
        o = saltus("%s %s -q -o all.h5", command, more);
        assert_done(&o);
        assert_equal_results("one.h5", "all.h5", least_sets);
        assert_int_equal(unlink("all.h5"), 0);
    }
    assert_int_equal(unlink("one.h5"), 0);
}

/* It is told by its directory. */
void signal_rank(int rank, int signal)
{
    char line[500];
    (void)snprintf(line, sizeof line,
                   "for p in /proc/[0-9]*; do "
                   "[ $p/cwd -ef . ] && "
                   "tr '\\0' '\\n' <$p/environ 2>/dev/null | "
                   "grep -qx OMPI_COMM_WORLD_RANK=%d && kill -%d ${p#/proc/}; done; true",
                   rank, signal);
    assert_int_equal(system(line), 0);
}
