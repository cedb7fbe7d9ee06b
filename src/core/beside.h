/** Files that lie where this library or program lies. */
#ifndef SALTUS_CORE_BESIDE_H
#define SALTUS_CORE_BESIDE_H

#include <stdbool.h>

/** Room for a path, the zero at its end included. */
enum { SALTUS_PATH_ROOM = 4096 };

/** The path of `file`, as seen from the folder of the library or program that this is a part of.
 * Empty when that folder is not known. Whether there is such a file is not looked at. */
void saltus_beside(const char *file, char path[SALTUS_PATH_ROOM]);

/**
 * Find a file of a Python package in the environment that this is a part of: beside the package
 * `saltus`, if this is its module, or in the packages of `../lib`, if this is the command.
 *
 * @param pattern  as of glob(3), from the folder of all packages: `nvidia/cu13/lib/lib*`
 * @param[out] path  the first one in the order of names, empty when there is none
 * @return whether there is one
 */
bool saltus_beside_package(const char *pattern, char path[SALTUS_PATH_ROOM]);

#endif
