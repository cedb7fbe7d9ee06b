/* The only C++ here: nothing else can catch what libsbml throws. */
#include "read/sbml/guard.h"

#include <cstdio>
#include <exception>
#include <new>

extern "C" bool sbml_guard(void (*work)(void *user), void *user, char *what, size_t size)
{
    what[0] = '\0';
    try {
        work(user);
        return false;
    } catch (const std::bad_alloc &) {
    } catch (const std::exception &problem) {
        (void)std::snprintf(what, size, "%s", problem.what());
    } catch (...) {
        (void)std::snprintf(what, size, "an exception without a text");
    }
    return true;
}
