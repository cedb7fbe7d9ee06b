/* Without SUNDIALS no system goes on by CVODE. */
#include "ode/cvode.h"

const char *saltus_cvode_name(void)
{
    return NULL;
}

bool saltus_cvode_takes(const saltus_tables *t, bool is_mean, int n)
{
    (void)t, (void)is_mean, (void)n;
    return false;
}

saltus_status saltus_cvode_create(saltus_trajectory *p, saltus_ode *o, saltus_stretch stretch,
                                  saltus_ode_solver **out, saltus_error *err)
{
    (void)p, (void)o, (void)stretch, (void)out;
    return saltus_error_set(err, SALTUS_E_UNAVAILABLE, "this version was built without SUNDIALS");
}

void saltus_cvode_destroy(saltus_ode_solver *solver)
{
    (void)solver;
}
