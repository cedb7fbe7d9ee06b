"""Write texts as a C file: embed.py OUTPUT FILE…; each is found by its folder and name, "kernel/rng.h"."""
import os
import sys

output, paths = sys.argv[1], sys.argv[2:]
escaped = str.maketrans({"\\": "\\\\", '"': '\\"'})
with open(output, "w", encoding="utf-8") as out:
    out.write('#include "backend/cuda/kernels.h"\n\n')
    out.write("const char *const saltus_kernel_names[] = {\n")
    for path in paths:
        name = f"{os.path.basename(os.path.dirname(path))}/{os.path.basename(path)}"
        out.write(f'    "{name}",\n')
    out.write("};\n\nconst char *const saltus_kernel_texts[] = {\n")
    for path in paths:
        with open(path, encoding="utf-8") as text:
            for line in text:
                out.write(f'    "{line.rstrip(chr(10)).translate(escaped)}\\n"\n')
        out.write("    ,\n")
    out.write(f"}};\n\nconst int saltus_n_kernel_texts = {len(paths)};\n")
