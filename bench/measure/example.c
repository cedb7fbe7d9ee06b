#include "bench/measure/example.h"

#include "core/file.h"
#include "core/memory.h"
#include "core/status.h"

#include <string.h>

saltus_status saltus_example_load(const char *folder, const char *name, saltus_model **model,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char path[1300], *text = NULL;
    size_t size = 0;
    (void)snprintf(path, sizeof path, "%s/%s.yaml", folder, name);
    SALTUS_TRY(saltus_read_file(path, &text, &size, err));
    const char *events = memmem(text, size, "\nevents:", 8);
    size = events ? (size_t)(events + 1 - text) : size;
    SALTUS_TRY(saltus_model_parse_yaml(text, size, path, model, err));
    SALTUS_TRY(saltus_model_freeze(*model, SALTUS_LAW_LITERAL, err));
done:
    saltus_free(text);
    return status;
}
