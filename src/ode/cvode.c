/* The one file that includes SUNDIALS' headers. Its functions print nothing: messages go to a
 * function that drops them. */
#include "ode/cvode.h"

#include "core/memory.h"
#include "kernel/ode/run.h"
#include "ode/incomplete.h"
#include "ode/jacobian.h"

#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include <math.h>

enum { MOST_FAILURES = 50 /* of one step: it is then shorter than any that makes sense */ };

/* Of a matrix. Where factors take more, an iteration is faster, and ^C need not wait for them: a
 * tenth of a second on one core (bench/RESULTS.md). */
#define MOST_OPERATIONS 1e8

/* No stop: a time that no step reaches. */
#define NEVER 1e300

typedef struct cvode {
    saltus_ode_solver solver; /* the first member */
    saltus_trajectory *p;
    saltus_ode *o;
    saltus_stretch stretch;
    int32_t wrong;           /* component that was not finite in a slope of the step, or -1 */
    saltus_pattern *pattern; /* NULL until the first stretch begins */
    saltus_jacobian jacobian;
    bool iterates;             /* I - γJ is factored in part alone, and solved by iteration: */
    double *values;            /* [entry] the Jacobian, */
    saltus_incomplete factors; /* and these */
    /* Of a stretch. */
    SUNContext context;
    N_Vector y, z, w;
    SUNMatrix matrix;
    SUNLinearSolver linear;
    void *memory;
} cvode;

const char *saltus_cvode_name(void)
{
    return "SUNDIALS " SUNDIALS_VERSION;
}

bool saltus_cvode_takes(const saltus_tables *t, bool is_mean, int n)
{
    return n > SALTUS_MOST_DENSE && (is_mean || t->n_reactions == 0);
}

static void drop_message(int code, const char *module, const char *function, char *message,
                         void *user)
{
    (void)code, (void)module, (void)function, (void)message, (void)user;
}

static void end_stretch(cvode *c)
{
    CVodeFree(&c->memory);
    if (c->linear) {
        SUNLinSolFree(c->linear);
    }
    if (c->matrix) {
        SUNMatDestroy(c->matrix);
    }
    N_VDestroy(c->y);
    N_VDestroy(c->z);
    N_VDestroy(c->w);
    SUNContext_Free(&c->context);
    c->linear = NULL;
    c->matrix = NULL;
    c->y = c->z = c->w = NULL;
}

/* What is not finite may be so because the step is too long: 1 says to try a shorter one. */
static int slope(realtype t, N_Vector y, N_Vector to, void *user)
{
    cvode *c = user;
    const double *x = N_VGetArrayPointer(y);
    double *k = N_VGetArrayPointer(to);
    saltus_ode_slope(c->p, c->o, t, x, k);
    for (int i = 0; i < c->o->n; ++i) {
        if (SALTUS_RARE(!(0.0 * x[i] == 0.0) || !(0.0 * k[i] == 0.0))) {
            c->wrong = i;
            return 1;
        }
    }
    return 0;
}

/* ---- matrices that are factored wholly, by KLU ---- */

/* KLU is to order columns by the pattern of a matrix and its transpose. */
enum { BY_BOTH_PATTERNS = 0 };

static void write_pattern(const saltus_pattern *q, sunindextype *first, sunindextype *item)
{
    for (int32_t j = 0; j <= q->n; ++j) {
        first[j] = q->rows.first[j];
    }
    for (int64_t i = 0; i < q->rows.first[q->n]; ++i) {
        item[i] = q->rows.item[i];
    }
}

static int jacobian(realtype t, N_Vector y, N_Vector at, SUNMatrix to, void *user, N_Vector spare,
                    N_Vector spare2, N_Vector spare3)
{
    cvode *c = user;
    (void)at, (void)spare2, (void)spare3;
    saltus_ode_slope(c->p, c->o, t, N_VGetArrayPointer(y), N_VGetArrayPointer(spare));
    write_pattern(c->pattern, SUNSparseMatrix_IndexPointers(to), SUNSparseMatrix_IndexValues(to));
    return saltus_jacobian_fill(&c->jacobian, c->p, SUNSparseMatrix_Data(to)) ? 0 : 1;
}

static bool open_factors(cvode *c)
{
    const int32_t n = c->pattern->n;
    c->matrix = SUNSparseMatrix(n, n, c->pattern->rows.first[n], CSC_MAT, c->context);
    c->linear = c->matrix ? SUNLinSol_KLU(c->y, c->matrix, c->context) : NULL;
    if (!c->linear) {
        return false;
    }
    /* a pivot of 0 makes what is not a number, and a shorter step is tried */
    SUNLinSol_KLUGetCommon(c->linear)->halt_if_singular = 0;
    return SUNLinSol_KLUSetOrdering(c->linear, BY_BOTH_PATTERNS) == SUNLS_SUCCESS &&
           CVodeSetLinearSolver(c->memory, c->linear, c->matrix) == CVLS_SUCCESS &&
           CVodeSetJacFn(c->memory, jacobian) == CVLS_SUCCESS;
}

/* How many operations factors would take, by the pattern alone. */
static saltus_status count_operations(const saltus_pattern *q, double *operations,
                                      saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    klu_l_symbolic *symbolic = NULL;
    klu_l_common common;
    sunindextype *first = saltus_calloc((size_t)q->n + 1, sizeof *first);
    sunindextype *item = saltus_calloc((size_t)q->rows.first[q->n], sizeof *item);
    SALTUS_NEED(first && item);
    write_pattern(q, first, item);
    klu_l_defaults(&common);
    common.ordering = BY_BOTH_PATTERNS;
    symbolic = klu_l_analyze(q->n, first, item, &common);
    SALTUS_NEED(symbolic || common.status == KLU_TOO_LARGE);
    *operations = symbolic ? symbolic->est_flops : INFINITY;
done:
    klu_l_free_symbolic(&symbolic, &common);
    saltus_free(first);
    saltus_free(item);
    return status;
}

/* ---- iteration, by GMRES with factors in part ---- */

/* Take the Jacobian anew, unless that at hand will do, and factor. */
static int factor_in_part(realtype t, N_Vector y, N_Vector at, booleantype may_stay,
                          booleantype *is_new, realtype gamma, void *user)
{
    cvode *c = user;
    (void)at;
    *is_new = !may_stay;
    if (!may_stay) {
        saltus_ode_slope(c->p, c->o, t, N_VGetArrayPointer(y), c->o->w);
        if (!saltus_jacobian_fill(&c->jacobian, c->p, c->values)) {
            return 1;
        }
    }
    return saltus_incomplete_factor(&c->factors, c->values, gamma) ? 0 : 1;
}

static int precondition(realtype t, N_Vector y, N_Vector at, N_Vector from, N_Vector to,
                        realtype gamma, realtype delta, int side, void *user)
{
    cvode *c = user;
    (void)t, (void)y, (void)at, (void)gamma, (void)delta, (void)side;
    N_VScale(1.0, from, to);
    saltus_incomplete_solve(&c->factors, N_VGetArrayPointer(to));
    return 0;
}

/* The product with the Jacobian at hand, as factors in full would have it. */
static int multiply(N_Vector v, N_Vector to, realtype t, N_Vector y, N_Vector at, void *user,
                    N_Vector spare)
{
    cvode *c = user;
    const saltus_columns_of *rows = &c->pattern->rows;
    const double *x = N_VGetArrayPointer(v);
    double *sum = N_VGetArrayPointer(to);
    (void)t, (void)y, (void)at, (void)spare;
    N_VConst(0.0, to);
    for (int32_t j = 0; j < c->pattern->n; ++j) {
        for (int64_t i = rows->first[j]; i < rows->first[j + 1]; ++i) {
            sum[rows->item[i]] += c->values[i] * x[j];
        }
    }
    return 0;
}

static bool open_iteration(cvode *c)
{
    enum { MOST_ITERATIONS = 10 };
    c->linear = SUNLinSol_SPGMR(c->y, SUN_PREC_LEFT, MOST_ITERATIONS, c->context);
    return c->linear && CVodeSetLinearSolver(c->memory, c->linear, NULL) == CVLS_SUCCESS &&
           CVodeSetPreconditioner(c->memory, factor_in_part, precondition) == CVLS_SUCCESS &&
           CVodeSetJacTimes(c->memory, NULL, multiply) == CVLS_SUCCESS;
}

/* ---- stretches ---- */

static void forget_pattern(cvode *c)
{
    saltus_incomplete_free(&c->factors);
    saltus_jacobian_free(&c->jacobian);
    saltus_pattern_destroy(c->pattern);
    saltus_free(c->values);
    c->factors = (saltus_incomplete){0};
    c->jacobian = (saltus_jacobian){0};
    c->pattern = NULL;
    c->values = NULL;
}

/* Make what every stretch needs. */
static saltus_status prepare(cvode *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double operations = 0.0;
    SALTUS_TRY(saltus_pattern_create(c->p->n, c->o->n, c->o->is_mean != 0, &c->pattern, err));
    SALTUS_TRY(saltus_jacobian_init(&c->jacobian, c->p->n, c->pattern, err));
    SALTUS_TRY(count_operations(c->pattern, &operations, err));
    c->iterates = operations > MOST_OPERATIONS;
    if (c->iterates) {
        const saltus_columns_of *rows = &c->pattern->rows;
        SALTUS_TRY(saltus_incomplete_init(&c->factors, rows, c->pattern->n, err));
        c->values = saltus_calloc((size_t)rows->first[c->pattern->n], sizeof *c->values);
        SALTUS_NEED(c->values);
    }
done:
    if (status != SALTUS_OK) {
        forget_pattern(c);
    }
    return status;
}

/* Whether there is memory for what SUNDIALS allocates, factors aside: of version 6 some functions
 * do not look whether they got it. */
static bool has_room(const saltus_pattern *q)
{
    enum { VECTORS = 40, HEAD = 256, MATRICES = 3, REST = 1 << 16 };
    const size_t n = (size_t)q->n, entry = sizeof(realtype) + sizeof(sunindextype);
    void *room = saltus_calloc(VECTORS * (HEAD + n * sizeof(realtype)) +
                                   MATRICES * (size_t)q->rows.first[q->n] * entry + REST,
                               1);
    saltus_free(room);
    return room != NULL;
}

/* The absolute error of amounts may be another than that of variables (kernel/ode/steps.h). CVODE
 * copies the vector, for which that of samples serves. */
static int set_tolerances(cvode *c)
{
    const saltus_ode *o = c->o;
    double *atol = N_VGetArrayPointer(c->w);
    if (o->of_amounts == o->wanted.atol) {
        return CVodeSStolerances(c->memory, o->wanted.rtol, o->wanted.atol);
    }
    for (int i = 0; i < o->n; ++i) {
        atol[i] = saltus_ode_atol(o, i);
    }
    return CVodeSVtolerances(c->memory, o->wanted.rtol, c->w);
}

/* Make CVODE's own things; false: memory ran out. */
static bool open_stretch(cvode *c, double size)
{
    const int32_t n = c->o->n;
    if (!has_room(c->pattern) || SUNContext_Create(NULL, &c->context) != 0) {
        c->context = NULL;
        return false;
    }
    c->y = N_VMake_Serial(n, c->o->y, c->context);
    c->z = N_VMake_Serial(n, c->o->z, c->context);
    c->w = N_VMake_Serial(n, c->o->w, c->context);
    c->memory = CVodeCreate(CV_BDF, c->context);
    return c->y && c->z && c->w && c->memory &&
           CVodeSetErrHandlerFn(c->memory, drop_message, NULL) == CV_SUCCESS &&
           CVodeInit(c->memory, slope, c->p->t, c->y) == CV_SUCCESS &&
           CVodeSetUserData(c->memory, c) == CV_SUCCESS && set_tolerances(c) == CV_SUCCESS &&
           CVodeSetMaxErrTestFails(c->memory, MOST_FAILURES) == CV_SUCCESS &&
           CVodeSetMaxConvFails(c->memory, MOST_FAILURES) == CV_SUCCESS &&
           CVodeSetInitStep(c->memory, size) == CV_SUCCESS &&
           (c->iterates ? open_iteration(c) : open_factors(c));
}

static saltus_failure begin(saltus_ode_solver *solver, double size)
{
    cvode *c = (cvode *)solver;
    c->stretch.begins(c->stretch.user);
    end_stretch(c);
    if ((!c->pattern && prepare(c, NULL) != SALTUS_OK) || !open_stretch(c, size)) {
        end_stretch(c);
        return saltus_trajectory_fail(c->p, SALTUS_OUT_OF_MEMORY, 0, 0.0);
    }
    solver->start = solver->end = c->p->t;
    solver->next = size;
    solver->n_steps = 0;
    return SALTUS_FINE;
}

/* The component with the largest error in the step that failed. */
static int worst(const cvode *c)
{
    int found = c->wrong;
    double largest = -1.0;
    N_Vector weights = N_VClone(c->y), errors = N_VClone(c->y);
    if (found < 0 && weights && errors && CVodeGetErrWeights(c->memory, weights) == CV_SUCCESS &&
        CVodeGetEstLocalErrors(c->memory, errors) == CV_SUCCESS) {
        const double *a = N_VGetArrayPointer(weights), *b = N_VGetArrayPointer(errors);
        for (int i = 0; i < c->o->n; ++i) {
            if (!(fabs(a[i] * b[i]) <= largest)) {
                largest = fabs(a[i] * b[i]);
                found = i;
            }
        }
    }
    N_VDestroy(weights);
    N_VDestroy(errors);
    return found < 0 ? 0 : found;
}

static saltus_failure fail(cvode *c, int code)
{
    const int klu = c->iterates ? KLU_OK : SUNLinSol_KLUGetCommon(c->linear)->status;
    c->solver.goes_on = 0;
    if (code == CV_MEM_FAIL ||
        (code == CV_LSETUP_FAIL && (klu == KLU_OUT_OF_MEMORY || klu == KLU_TOO_LARGE))) {
        return saltus_trajectory_fail(c->p, SALTUS_OUT_OF_MEMORY, 0, 0.0);
    }
    const int i = worst(c);
    return saltus_trajectory_fail(c->p, SALTUS_NO_STEP, i, c->o->y[i]);
}

static saltus_failure step(saltus_ode_solver *solver, double stop)
{
    cvode *c = (cvode *)solver;
    double end;
    const double t = c->p->t,
                 beyond = t + fabs(t) + 1.0; /* where steps go to; no step ends there */
    int code = CVodeSetStopTime(c->memory, stop < NEVER ? stop : NEVER);
    if (code >= 0) {
        code = CVodeSetMinStep(c->memory, saltus_ode_least(t));
    }
    c->wrong = -1;
    if (code >= 0) {
        code = CVode(c->memory, beyond, c->z, &end, CV_ONE_STEP);
    }
    if (code < 0) {
        return fail(c, code);
    }
    ++solver->n_steps;
    solver->start = t;
    solver->end = end;
    (void)CVodeGetCurrentStep(c->memory, &solver->next);
    return SALTUS_FINE;
}

static void at(saltus_ode_solver *solver, double time, double *y)
{
    cvode *c = (cvode *)solver;
    N_VSetArrayPointer(y, c->w);
    (void)CVodeGetDky(c->memory, time, 0, c->w);
}

saltus_status saltus_cvode_create(saltus_trajectory *p, saltus_ode *o, saltus_stretch stretch,
                                  saltus_ode_solver **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    cvode *c = saltus_calloc(1, sizeof *c);
    SALTUS_NEED(c);
    *c = (cvode){
        .solver = {.begin = begin, .step = step, .at = at}, .p = p, .o = o, .stretch = stretch};
    *out = &c->solver;
done:
    return status;
}

void saltus_cvode_destroy(saltus_ode_solver *solver)
{
    cvode *c = (cvode *)solver;
    if (c) {
        end_stretch(c);
        forget_pattern(c);
        saltus_free(c);
    }
}
