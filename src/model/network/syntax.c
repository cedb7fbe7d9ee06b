/* The words of the language. */
#include "model/network/syntax.h"

#include <math.h>
#include <string.h>

static const saltus_infix infixes[] = {
    {"||", SALTUS_OP_OR, SALTUS_LEVEL_OR, SALTUS_LEVEL_OR, SALTUS_LEVEL_AND},
    {"&&", SALTUS_OP_AND, SALTUS_LEVEL_AND, SALTUS_LEVEL_AND, SALTUS_LEVEL_NOT},
    {"<=", SALTUS_OP_LE, SALTUS_LEVEL_COMPARE, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD},
    {"<", SALTUS_OP_LT, SALTUS_LEVEL_COMPARE, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD},
    {">=", SALTUS_OP_GE, SALTUS_LEVEL_COMPARE, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD},
    {">", SALTUS_OP_GT, SALTUS_LEVEL_COMPARE, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD},
    {"==", SALTUS_OP_EQ, SALTUS_LEVEL_COMPARE, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD},
    {"!=", SALTUS_OP_NE, SALTUS_LEVEL_COMPARE, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD},
    {"+", SALTUS_OP_ADD, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD, SALTUS_LEVEL_MUL},
    {"-", SALTUS_OP_SUB, SALTUS_LEVEL_ADD, SALTUS_LEVEL_ADD, SALTUS_LEVEL_MUL},
    {"*", SALTUS_OP_MUL, SALTUS_LEVEL_MUL, SALTUS_LEVEL_MUL, SALTUS_LEVEL_UNARY},
    {"/", SALTUS_OP_DIV, SALTUS_LEVEL_MUL, SALTUS_LEVEL_MUL, SALTUS_LEVEL_UNARY},
    {"^", SALTUS_OP_POW, SALTUS_LEVEL_POW, SALTUS_LEVEL_PRIMARY, SALTUS_LEVEL_UNARY},
};
enum { N_INFIXES = sizeof infixes / sizeof *infixes };

/* Other spellings of operators. */
static const struct {
    const char *text;
    saltus_op op;
} other_infixes[] = {{"**", SALTUS_OP_POW}, {"and", SALTUS_OP_AND}, {"or", SALTUS_OP_OR}};
enum { N_OTHER_INFIXES = sizeof other_infixes / sizeof *other_infixes };

/* Functions that are not named as in SALTUS_OP_LIST. */
static const struct {
    const char *name;
    saltus_op op;
} synonyms[] = {
    {"log", SALTUS_OP_LN},        {"ceiling", SALTUS_OP_CEIL},  {"and", SALTUS_OP_AND},
    {"or", SALTUS_OP_OR},         {"pow", SALTUS_OP_POW},       {"power", SALTUS_OP_POW},
    {"arcsin", SALTUS_OP_ASIN},   {"arccos", SALTUS_OP_ACOS},   {"arctan", SALTUS_OP_ATAN},
    {"arcsec", SALTUS_OP_ASEC},   {"arccsc", SALTUS_OP_ACSC},   {"arccot", SALTUS_OP_ACOT},
    {"arcsinh", SALTUS_OP_ASINH}, {"arccosh", SALTUS_OP_ACOSH}, {"arctanh", SALTUS_OP_ATANH},
    {"arcsech", SALTUS_OP_ASECH}, {"arccsch", SALTUS_OP_ACSCH}, {"arccoth", SALTUS_OP_ACOTH},
};
enum { N_SYNONYMS = sizeof synonyms / sizeof *synonyms };

/* Functions that make more than one node. */
static const char *const composed[] = {"if", "sqr", "log2", "rint", "sum", "avg"};
enum { N_COMPOSED = sizeof composed / sizeof *composed };

static const saltus_constant constants[] = {
    {"time", 0.0, false}, /* no constant, but a name like one */
    {"pi", 3.14159265358979323846, false},
    {"avogadro", 6.02214076e23, false},
    {"true", 1.0, false},
    {"false", 0.0, false},
    {"inf", (double)INFINITY, true},
    {"nan", (double)NAN, true},
    {"_pi", 3.14159265358979323846, false}, /* as BioNetGen has them */
    {"_e", 2.71828182845904523536, false},
};
enum { N_CONSTANTS = sizeof constants / sizeof *constants };

/* Functions of BioNetGen that there are not, and of others what they are here. */
static const struct {
    const char *name, *what, *hint;
} absent[] = {
    {"tfun", "values from a table",
     "give the values as held(time, …), linear(time, …) or spline(time, …)"},
    {"TFUN", "values from a table",
     "give the values as held(time, …), linear(time, …) or spline(time, …)"},
    {"mratio", "a ratio of Kummer's functions", NULL},
    {"hill", NULL, "write x^n/(K^n + x^n)"},
    {"Hill", NULL, "write x^n/(K^n + x^n)"},
    {"mm", NULL, "write x/(Km + x)"},
    {"heaviside", NULL, "write piecewise(1, x >= 0, 0)"},
};

bool saltus_function_absent(const char *name, const char **what, const char **hint)
{
    for (size_t i = 0; i < sizeof absent / sizeof *absent; ++i) {
        if (strcmp(absent[i].name, name) == 0) {
            *what = absent[i].what;
            *hint = absent[i].hint;
            return true;
        }
    }
    return false;
}

/* The names of all functions, separated by commas. */
static void list_functions(char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < N_COMPOSED + SALTUS_OP_END && at < size; ++i) {
        const char *name =
            i < N_COMPOSED ? composed[i] : saltus_op_text((saltus_op)(i - N_COMPOSED));
        if (saltus_is_name_start(name[0]) && (i < N_COMPOSED || saltus_op_find(name) >= 0)) {
            at += (size_t)snprintf(text + at, size - at, "%s%s", at > 0 ? ", " : "", name);
        }
    }
}

void saltus_functions_hint(saltus_error *err, const char *name)
{
    const char *what = NULL, *hint = NULL;
    char all[400];
    list_functions(all, sizeof all);
    (void)saltus_function_absent(name, &what, &hint);
    saltus_error_hint(err, "%s%sthere are %s", hint ? hint : "", hint ? "; " : "", all);
}

const saltus_infix *saltus_infix_of(saltus_op op)
{
    for (int i = 0; i < N_INFIXES; ++i) {
        if (infixes[i].op == op) {
            return &infixes[i];
        }
    }
    return NULL;
}

static bool is_word(const char *word, const char *text, size_t n)
{
    return strlen(word) == n && memcmp(word, text, n) == 0;
}

const saltus_infix *saltus_infix_named(const char *text, size_t n)
{
    for (int i = 0; i < N_OTHER_INFIXES; ++i) {
        if (is_word(other_infixes[i].text, text, n)) {
            return saltus_infix_of(other_infixes[i].op);
        }
    }
    for (int i = 0; i < N_INFIXES; ++i) {
        if (is_word(infixes[i].text, text, n)) {
            return &infixes[i];
        }
    }
    return NULL;
}

const saltus_constant *saltus_constant_named(const char *name)
{
    for (int i = 0; i < N_CONSTANTS; ++i) {
        if (strcmp(constants[i].name, name) == 0) {
            return &constants[i];
        }
    }
    return NULL;
}

bool saltus_is_composed(const char *name)
{
    for (int i = 0; i < N_COMPOSED; ++i) {
        if (strcmp(composed[i], name) == 0) {
            return true;
        }
    }
    return false;
}

int saltus_function_named(const char *name)
{
    for (int i = 0; i < N_SYNONYMS; ++i) {
        if (strcmp(synonyms[i].name, name) == 0) {
            return (int)synonyms[i].op;
        }
    }
    return saltus_op_find(name);
}

bool saltus_is_name_start(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || (unsigned char)c >= 0x80;
}

bool saltus_is_name_part(char c)
{
    return saltus_is_name_start(c) || (c >= '0' && c <= '9') || c == '.';
}

bool saltus_name_is_plain(const char *name)
{
    const char *c = name;
    if (!saltus_is_name_start(*c)) {
        return false;
    }
    while (saltus_is_name_part(*c) && (unsigned char)*c < 0x80) {
        ++c;
    }
    return *c == '\0' && strcmp(name, "not") != 0 && !saltus_is_composed(name) &&
           !saltus_constant_named(name) && saltus_function_named(name) < 0;
}
