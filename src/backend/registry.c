#include "backend/backend.h"

#include "core/memory.h"
#include "method/method.h"

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

saltus_choice saltus_method_at(int i)
{
    if (i < 0 || i >= SALTUS_N_METHODS) {
        return (saltus_choice){0};
    }
    const saltus_method_ops *m = saltus_method_of((saltus_method)i);
    const unsigned bit = SALTUS_METHOD_BIT((saltus_method)i);
    return (saltus_choice){.name = m->name,
                           .about = m->help,
                           .in_space = m->in_space,
                           .on_cpu = saltus_backend_cpu.methods & bit,
                           .on_gpu = saltus_backend_cuda.methods & bit,
                           .leaps = m->leaps};
}

/* The first of the table is `auto`; what nobody names is left out. */
saltus_choice saltus_layout_at(int i)
{
    int at = 1;
    for (int left = i; at < SALTUS_N_LAYOUTS; ++at) {
        left -= saltus_layout_of((saltus_layout)at)->is_named;
        if (left < 0) {
            break;
        }
    }
    if (i < 0 || at == SALTUS_N_LAYOUTS) {
        return (saltus_choice){0};
    }
    const saltus_layout_info *l = saltus_layout_of((saltus_layout)at);
    return (saltus_choice){.name = l->name,
                           .about = l->about,
                           .in_space = !(l->methods & SALTUS_LAYOUT_MIXED),
                           .on_cpu = l->backends & SALTUS_ON_CPU,
                           .on_gpu = l->backends & SALTUS_ON_GPU};
}
