#include "backend/backend.h"

#include "core/memory.h"

#include <string.h>

/* In order of preference for "auto". */
static const saltus_backend_ops *const backends[] = {&saltus_backend_cpu, &saltus_backend_cuda};
enum { N_BACKENDS = sizeof backends / sizeof *backends };

saltus_status saltus_backend_open(const char *specification, saltus_backend **out,
                                  saltus_error *err)
{
    if (!specification || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    const bool is_auto = strcmp(specification, "auto") == 0;
    saltus_backend *b = saltus_calloc(1, sizeof *b);
    SALTUS_NEED(b);
    for (int i = 0; i < N_BACKENDS && !b->ops; ++i) {
        if (is_auto || backends[i]->claims(specification)) {
            SALTUS_TRY(backends[i]->open(is_auto ? backends[i]->name : specification, b, err));
            b->ops = backends[i];
        }
    }
    if (!b->ops) {
        SALTUS_FAIL(SALTUS_E_INVALID, "device '%s': there are auto, cpu and cuda", specification);
    }
    saltus_handle_add(&b->handle, SALTUS_HANDLE_BACKEND);
    *out = b;
    b = NULL;
done:
    saltus_free(b);
    return status;
}

void saltus_backend_close(saltus_backend *backend)
{
    if (backend && saltus_handle_take(&backend->handle, SALTUS_HANDLE_BACKEND)) {
        backend->ops->close(backend);
        saltus_free(backend);
    }
}

const char *saltus_backend_name(const saltus_backend *backend)
{
    return backend ? backend->name : "";
}

void saltus_backend_list(FILE *out)
{
    for (int i = 0; out && i < N_BACKENDS; ++i) {
        backends[i]->list(out);
    }
}
