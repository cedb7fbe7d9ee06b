/* How saltus run and saltus sweep end. Results, tables and traces are closed whatever has happened,
 * and the first failure is the one that is told. */
#include "cli/run.h"

#include <stdlib.h>
#include <string.h>

saltus_status saltus_cli_write_xdmf(const char *file, saltus_error *err)
{
    saltus_results *results = NULL;
    saltus_status status = saltus_results_open(file, &results, err);
    if (status == SALTUS_OK) {
        status = saltus_results_write_xdmf(results, err);
    }
    saltus_results_close(results);
    return status;
}

/* Whether the file that nobody named has results, and no other has them: the table could not be
 * made of it. */
static bool has_the_only(const char *scratch, const saltus_error *of_table)
{
    saltus_file_state state;
    return of_table->code != SALTUS_OK && of_table->hint[0] == '\0' && /* else it is beside */
           saltus_file_state_read(scratch, &state, NULL) == SALTUS_OK && state.n_done > 0;
}

/* What the failure leaves, where the results were to be in a file that nobody named. */
static void tell_what_is_kept(saltus_cli_session *s, const saltus_error *of_table,
                              saltus_error *err)
{
    const bool is_of_scratch = strncmp(err->message, s->scratch, strlen(s->scratch)) == 0;
    if (has_the_only(s->scratch, of_table)) {
        (void)snprintf(err->hint, sizeof err->hint,
                       "what was delivered is in %.400s, a result file", s->scratch);
        saltus_cli_forget(s->scratch);
        free(s->scratch);
        s->scratch = NULL;
    } else if (is_of_scratch) { /* which goes */
        err->hint[0] = '\0';
        if (s->a->output && of_table->code == SALTUS_OK) {
            (void)snprintf(err->hint, sizeof err->hint, "what was delivered is in %.400s",
                           s->a->output);
        }
    }
}

/* How what was written is gone on with, behind what the failure says of it. */
static void tell_of_resume(const char *file, saltus_error *err)
{
    saltus_file_state state;
    const size_t n = strlen(err->hint);
    if (n > 0 && saltus_file_state_read(file, &state, NULL) == SALTUS_OK && !state.complete &&
        state.n_done >= 0) {
        (void)snprintf(err->hint + n, sizeof err->hint - n, "; saltus resume %.300s goes on", file);
    }
}

saltus_status saltus_cli_finish(saltus_cli_session *s, saltus_status status, saltus_error *err,
                                const saltus_error *closing)
{
    saltus_error errors[4] = {*closing};
    if (s->table.out) {
        (void)saltus_cli_convert(s->scratch, s->a->record, &s->table, &errors[1]);
    }
    if (s->a->frames > 0.0) {
        (void)saltus_cli_write_xdmf(s->a->output, &errors[2]);
    }
    (void)saltus_cli_close_trace(s->trace, true, &errors[3]);
    s->trace = NULL;
    for (int i = 0; i < 4; ++i) { /* of an interrupted run, failures of the results alone count */
        const bool counts = status == SALTUS_OK || (status == SALTUS_E_CANCELLED && i < 2);
        if (counts && errors[i].code != SALTUS_OK) {
            status = errors[i].code;
            *err = errors[i];
        }
    }
    if (status != SALTUS_OK && status != SALTUS_E_CANCELLED) {
        if (s->scratch) {
            tell_what_is_kept(s, &errors[1], err);
        } else if (err->code == SALTUS_E_IO && s->a->output) {
            tell_of_resume(s->a->output, err);
        }
        saltus_cli_print_error(err);
    }
    s->seconds = saltus_cli_now() - s->start;
    return status;
}

static void clean_up(saltus_cli_session *s)
{
    saltus_error err = {0};
    (void)saltus_cli_close_trace(s->trace, false, &err);
    (void)saltus_cli_close_table(&s->table, false, NULL);
    saltus_cli_remove_scratch(s->scratch);
    free(s->times);
}

int saltus_cli_give_up(saltus_cli_session *s, const saltus_error *err)
{
    saltus_cli_print_error(err);
    clean_up(s);
    return err->code == SALTUS_E_NO_MEMORY || err->code == SALTUS_E_INTERNAL ? EXIT_FAILED
                                                                             : EXIT_USAGE;
}

int saltus_cli_end(saltus_cli_session *s, saltus_status status, saltus_error *err)
{
    if (err->code == SALTUS_OK && !saltus_cli_flush(err) && status == SALTUS_OK) {
        status = SALTUS_E_IO;
    }
    if (err->code != SALTUS_OK) {
        saltus_cli_print_error(err);
    }
    clean_up(s);
    return status == SALTUS_OK            ? EXIT_DONE
           : status == SALTUS_E_CANCELLED ? EXIT_INTERRUPTED
                                          : EXIT_FAILED;
}
