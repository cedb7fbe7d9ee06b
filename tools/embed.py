"""Write texts as a C file: embed.py OUTPUT FILE…; each is found by its path from
its folder "kernel" on, "kernel/base/rng.h", and all together have a SHA-256.
embed.py OUTPUT --as NAME FILE…: const char *const NAME[][2], of each its name without folders and
its text, two NULLs behind the last."""
import hashlib
import sys

escaped = str.maketrans({"\\": "\\\\", '"': '\\"'})


def write_lines(out, path):
    with open(path, encoding="utf-8") as text:
        for line in text:
            out.write(f'    "{line.rstrip(chr(10)).translate(escaped)}\\n"\n')


output, paths = sys.argv[1], sys.argv[2:]
with open(output, "w", encoding="utf-8") as out:
    if paths[0] == "--as":
        out.write(f"extern const char *const {paths[1]}[][2];\n")
        out.write(f"const char *const {paths[1]}[][2] = {{\n")
        for path in paths[2:]:
            out.write(f'    {{"{path.split("/")[-1]}",\n')
            write_lines(out, path)
            out.write("    },\n")
        out.write("    {0, 0},\n};\n")
        sys.exit()
    out.write('#include "backend/cuda/device/kernels.h"\n\n')
    out.write("const char *const saltus_kernel_names[] = {\n")
    for path in paths:
        parts = path.split("/")
        first = len(parts) - 1 - parts[::-1].index("kernel")
        out.write(f'    "{"/".join(parts[first:])}",\n')
    out.write("};\n\nconst char *const saltus_kernel_texts[] = {\n")
    hash_of_all = hashlib.sha256()
    for path in paths:
        write_lines(out, path)
        out.write("    ,\n")
        with open(path, "rb") as text:
            hash_of_all.update(text.read())
    out.write(f"}};\n\nconst int saltus_n_kernel_texts = {len(paths)};\n")
    out.write(f'const char saltus_kernel_sha256[] = "{hash_of_all.hexdigest()}";\n')
