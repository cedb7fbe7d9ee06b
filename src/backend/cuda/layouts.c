#include "backend/cuda/layouts.h"

#include "backend/cuda/registers.h"

#include <stdlib.h>
#include <string.h>

saltus_status saltus_layout_compile(const char *layout, const saltus_tables *tables,
                                    const saltus_columns *columns, int major, int minor,
                                    saltus_image *out, const char **entry, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *text = NULL; /* NULL: the same for every model */
    *out = (saltus_image){0};
    *entry = "saltus_global";
    if (strcmp(layout, "registers") == 0) {
        *entry = "saltus_registers";
        SALTUS_TRY(saltus_registers_text(tables, columns, &text, err));
    }
    SALTUS_TRY(saltus_kernel_compile(text ? text : "#include \"kernel/direct_global.h\"\n", major,
                                     minor, out, err));
done:
    free(text);
    return status;
}
