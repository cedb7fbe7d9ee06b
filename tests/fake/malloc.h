/** How a program ended that was preloaded with malloc.c: codes that it never ends with itself. */
#ifndef SALTUS_TESTS_MALLOC_H
#define SALTUS_TESTS_MALLOC_H

enum {
    IN_HDF5 = 90,      /**< it crashed, with a function of libhdf5 under way */
    IN_SBML = 91,      /**< it crashed in libsbml or libxml2 */
    BY_EXCEPTION = 92, /**< nobody caught what was thrown */
    ELSEWHERE = 93,    /**< it crashed anywhere else */
};

#endif
