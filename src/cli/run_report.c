/* saltus run: progress, warnings, the JSON object. */
#include "cli/run.h"

/* "1:05:20", "5:20" or "20 s". */
static void print_left(double seconds)
{
    const long long s = seconds < 1e15 ? (long long)(seconds + 0.5) : 0;
    if (seconds >= 1e15) {
        fprintf(stderr, "ages left");
    } else if (s >= 86400) {
        fprintf(stderr, "%lld d %lld h left", s / 86400, s / 3600 % 24);
    } else if (s >= 3600) {
        fprintf(stderr, "%lld h %lld min left", s / 3600, s / 60 % 60);
    } else if (s >= 600) {
        fprintf(stderr, "%lld min left", s / 60);
    } else {
        fprintf(stderr, "%lld s left", s);
    }
}

void saltus_cli_show_progress(void *user, const saltus_progress *p)
{
    const double f = p->fraction;
    (void)user;
    fprintf(stderr, "\r%5.1f %%  ", 100.0 * f);
    if (p->total == 1) {
        fprintf(stderr, "time %.4g of %.4g  ", f * p->until, p->until);
    } else {
        fprintf(stderr, "%.3g trajectories/s  ", (double)p->trajectories / p->seconds);
    }
    fprintf(stderr, "%.3g events/s  ", (double)p->events / p->seconds);
    if (f > 0.0) {
        print_left(p->seconds * (1.0 - f) / f);
    }
    fprintf(stderr, " \033[K");
    (void)fflush(stderr);
}

void saltus_cli_show_warning(void *user, const char *sentence)
{
    const saltus_cli_run_arguments *a = user;
    if (!a->quiet) {
        saltus_cli_say("saltus: warning: ", sentence);
    }
}

void saltus_cli_explain_waiting(const saltus_plan *plan, const saltus_run_report *report)
{
    if (saltus_plan_slabs(plan) < 2 || !report->halo_path) {
        return;
    }
    if (report->halo_wait >= 0.0) {
        fprintf(stderr,
                "          of the run: blocks of threads beside another GPU's slab waited for it "
                "%.2g %% of their time\n",
                100.0 * report->halo_wait);
    } else {
        fprintf(stderr,
                "          of the run: a launch was a phase of a slab, and what they waited "
                "for each other is not measured\n");
    }
}

static void print_counter(const char *name, int64_t n, bool is_wanted)
{
    if (is_wanted) {
        printf("\"%s\": %lld, ", name, (long long)n);
    }
}

static void print_counters(const saltus_run_report *report, saltus_counted which)
{
#define PRINT(name, in)                \
    print_counter(#name, report->name, \
                  (in) == which && (which != SALTUS_IN_SOME || report->name > 0));
    SALTUS_COUNTERS(PRINT)
#undef PRINT
}

static void print_ranks(void)
{
    if (saltus_cli_ranks()) {
        printf("\"ranks\": %d, ", saltus_ranks_count(saltus_cli_ranks()));
    }
}

saltus_cli_simulated saltus_cli_simulated_by(const saltus_plan *plan)
{
    return (saltus_cli_simulated){.model = saltus_model_name(saltus_plan_model(plan)),
                                  .device = saltus_backend_name(saltus_plan_backend(plan)),
                                  .layout = saltus_plan_layout(plan),
                                  .method = saltus_plan_method(plan),
                                  .rng = saltus_plan_rng(plan),
                                  .n_slabs = saltus_plan_slabs(plan)};
}

void saltus_cli_print_json(const saltus_cli_run_arguments *a, const saltus_cli_simulated *what,
                           const saltus_run_report *report, double total, bool complete)
{
    printf("{\"model\": ");
    saltus_cli_print_text(what->model);
    printf(", ");
    print_counters(report, SALTUS_IN_ALL);
    printf("\"trajectories\": %lld, ", (long long)report->trajectories);
    if (what->n_points > 0) {
        printf("\"points\": %lld, ", (long long)what->n_points);
    }
    printf("\"seconds\": %.6g, "
           "\"seconds_total\": %.6g, \"events_per_second\": %.6g, "
           "\"kernel_seconds\": %.6g, \"device\": ",
           report->seconds, total,
           report->seconds > 0.0 ? (double)report->events / report->seconds : 0.0,
           report->kernel_seconds);
    saltus_cli_print_text(what->device);
    printf(", ");
    if (saltus_cli_method(what->method).leaps) {
        print_counters(report, SALTUS_IN_LEAPS);
    }
    if (what->n_slabs > 1) {
        printf("\"slabs\": %d, ", what->n_slabs);
        print_counters(report, SALTUS_IN_SLABS);
        if (report->halo_path) {
            printf("\"path\": \"%s\", \"halo_bytes_per_step\": %lld, ", report->halo_path,
                   (long long)report->halo_bytes);
            if (report->halo_wait >= 0.0) {
                printf("\"halo_wait\": %.3g, ", report->halo_wait);
            }
        }
    }
    print_counters(report, SALTUS_IN_SOME);
    print_ranks();
    printf("\"layout\": \"%s\", \"method\": \"%s\", \"rng\": \"%s\", \"seed\": %llu, "
           "\"complete\": %s, \"output\": ",
           what->layout, what->method, what->rng, (unsigned long long)a->seed,
           complete ? "true" : "false");
    if (a->output) {
        saltus_cli_print_text(a->output);
    } else {
        printf("null");
    }
    printf("}\n");
}

void saltus_cli_tell_forecast(const saltus_cli_run_arguments *a, const saltus_forecast *f)
{
    const double hours = f->seconds / 3600.0;
    if (a->quiet || !(hours > 1.0)) {
        return;
    }
    const bool is_years = hours > 2.0 * 365.25 * 24.0, is_days = hours > 48.0;
    char text[500];
    (void)snprintf(text, sizeof text,
                   "this is expected to take about %.2g %s (%.2g %s); what would help: %s",
                   is_years  ? hours / (365.25 * 24.0)
                   : is_days ? hours / 24.0
                             : hours,
                   is_years  ? "years"
                   : is_days ? "days"
                             : "hours",
                   f->n, f->of, f->advice);
    saltus_cli_say("saltus: ", text);
}
