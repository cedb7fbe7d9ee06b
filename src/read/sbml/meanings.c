/* What libsbml would lose of the meanings that names have in a submodel when it flattens one: marks
 * that are made before, and read in formulas afterwards. */
#include "read/sbml/math.h"

#include <string.h>

/* libsbml writes names of the whole model into the laws of a submodel, where a local parameter of
 * the same name would take them. Its own name is one that nothing else has. */
#define LOCAL "local_of_law__"
/* In a call, behind the arguments: time:origin(t), where libsbml makes of t what the time of the
 * submodel is. It does not look into functions, and does not know that rates are per time. The
 * origin of the function tells whether another one has replaced it. */
#define OWN_TIME "time:"
#define RATE_OF "rateOf:"

/* ---- before: marks ---- */

static void add_own_time(ASTNode_t *call, const FunctionDefinition_t *f)
{
    char name[600];
    ASTNode_t *own = ASTNode_createWithType(AST_FUNCTION);
    ASTNode_t *time = ASTNode_createWithType(AST_NAME_TIME);
    (void)snprintf(name, sizeof name, "%s%s", OWN_TIME, f ? FunctionDefinition_getName(f) : "");
    (void)ASTNode_setName(own, name);
    (void)ASTNode_setName(time, "time");
    (void)ASTNode_addChild(own, time);
    (void)ASTNode_addChild(call, own);
}

static void mark_calls(const Model_t *m, ASTNode_t *node)
{
    for (unsigned i = 0; i < ASTNode_getNumChildren(node); ++i) {
        mark_calls(m, ASTNode_getChild(node, i));
    }
    const char *name = ASTNode_getName(node);
    if (ASTNode_getType(node) == AST_FUNCTION_RATE_OF) {
        (void)ASTNode_setType(node, AST_FUNCTION);
        (void)ASTNode_setName(node, RATE_OF);
        add_own_time(node, NULL);
    } else if (ASTNode_getType(node) == AST_FUNCTION && name) {
        const FunctionDefinition_t *f = Model_getFunctionDefinitionById((Model_t *)m, name);
        if (f) {
            add_own_time(node, f);
        }
    }
}

/* The tree is the element's own, which libsbml shows as a constant one. */
static void mark_formula(const Model_t *m, const ASTNode_t *math)
{
    if (math) {
        mark_calls(m, (ASTNode_t *)math);
    }
}

static void rename_in(ASTNode_t *node, const char *from, const char *to)
{
    const char *name = ASTNode_getType(node) == AST_NAME ? ASTNode_getName(node) : NULL;
    if (name && strcmp(name, from) == 0) {
        (void)ASTNode_setName(node, to);
    }
    for (unsigned i = 0; i < ASTNode_getNumChildren(node); ++i) {
        rename_in(ASTNode_getChild(node, i), from, to);
    }
}

static saltus_status mark_locals(sbml_reader *r, KineticLaw_t *law)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    for (unsigned i = 0; i < KineticLaw_getNumLocalParameters(law); ++i) {
        LocalParameter_t *p = KineticLaw_getLocalParameter(law, i);
        const char *id = LocalParameter_getId(p);
        if (!id || !*id) {
            continue;
        }
        const size_t size = strlen(id) + sizeof LOCAL;
        char *own = saltus_arena_alloc(&r->model->arena, size);
        SALTUS_NEED(own);
        (void)snprintf(own, size, "%s%s", LOCAL, id);
        rename_in((ASTNode_t *)KineticLaw_getMath(law), id, own);
        (void)LocalParameter_setId(p, own);
    }
done:
    return status;
}

/* A function's name for people tells which definition it comes from, and what it is called there.
 */
static saltus_status mark_function(sbml_reader *r, FunctionDefinition_t *f, unsigned definition)
{
    const char *id = FunctionDefinition_getId(f) ? FunctionDefinition_getId(f) : "";
    char origin[500];
    const int n = snprintf(origin, sizeof origin, "%u:%s", definition, id);
    if (n < 0 || (size_t)n >= sizeof origin) {
        return sbml_fail(r, SALTUS_E_UNSUPPORTED, sbml_line(f),
                         "the name of function '%.100s…' is too long", id);
    }
    (void)FunctionDefinition_setName(f, origin);
    return SALTUS_OK;
}

static void mark_event(const Model_t *m, Event_t *e)
{
    Trigger_t *trigger = Event_getTrigger(e);
    Delay_t *delay = Event_getDelay(e);
    Priority_t *priority = Event_getPriority(e);
    mark_formula(m, trigger ? Trigger_getMath(trigger) : NULL);
    mark_formula(m, delay ? Delay_getMath(delay) : NULL);
    mark_formula(m, priority ? Priority_getMath(priority) : NULL);
    for (unsigned i = 0; i < Event_getNumEventAssignments(e); ++i) {
        mark_formula(m, EventAssignment_getMath(Event_getEventAssignment(e, i)));
    }
}

saltus_status sbml_mark_meanings(sbml_reader *r, Model_t *m, unsigned definition)
{
    saltus_status status = SALTUS_OK;
    for (unsigned i = 0; i < Model_getNumFunctionDefinitions(m); ++i) {
        SALTUS_TRY(mark_function(r, Model_getFunctionDefinition(m, i), definition));
    }
    for (unsigned i = 0; i < Model_getNumFunctionDefinitions(m); ++i) {
        mark_formula(m, FunctionDefinition_getMath(Model_getFunctionDefinition(m, i)));
    }
    for (unsigned i = 0; i < Model_getNumInitialAssignments(m); ++i) {
        mark_formula(m, InitialAssignment_getMath(Model_getInitialAssignment(m, i)));
    }
    for (unsigned i = 0; i < Model_getNumRules(m); ++i) {
        mark_formula(m, Rule_getMath(Model_getRule(m, i)));
    }
    for (unsigned i = 0; i < Model_getNumReactions(m); ++i) {
        KineticLaw_t *law = Reaction_getKineticLaw(Model_getReaction(m, i));
        if (law && KineticLaw_isSetMath(law)) {
            mark_formula(m, KineticLaw_getMath(law));
            SALTUS_TRY(mark_locals(r, law));
        }
    }
    for (unsigned i = 0; i < Model_getNumEvents(m); ++i) {
        mark_event(m, Model_getEvent(m, i));
    }
done:
    return status;
}

void sbml_forget_names(Model_t *m)
{
    for (unsigned i = 0; i < Model_getNumFunctionDefinitions(m); ++i) {
        (void)FunctionDefinition_unsetName(Model_getFunctionDefinition(m, i));
    }
}

/* ---- afterwards: what they say ---- */

size_t sbml_local_mark(const sbml_reader *r, const char *id)
{
    return r->how && strncmp(id, LOCAL, sizeof LOCAL - 1) == 0 ? sizeof LOCAL - 1 : 0;
}

const char *sbml_function_name(const sbml_reader *r, const FunctionDefinition_t *f)
{
    const char *origin = r->how ? FunctionDefinition_getName(f) : NULL;
    const char *colon = origin ? strchr(origin, ':') : NULL;
    return colon ? colon + 1 : FunctionDefinition_getId(f);
}

/* The function that the body of another one calls, which libsbml leaves as it is written: of A__f,
 * which is called f in the submodel, it is A__g of the same definition. */
const sbml_symbol *sbml_find_callee(const sbml_reader *r, FunctionDefinition_t *caller,
                                    const char *name)
{
    const char *origin = r->how && caller ? FunctionDefinition_getName(caller) : NULL;
    char full[500], wanted[500];
    if (!origin || !*origin) {
        return sbml_find(r, name);
    }
    const char *id = FunctionDefinition_getId(caller), *own = sbml_function_name(r, caller);
    const size_t prefix = strlen(id) > strlen(own) ? strlen(id) - strlen(own) : 0;
    if (prefix == 0 || strcmp(id + prefix, own) != 0 || prefix + strlen(name) >= sizeof full ||
        (size_t)(own - origin) + strlen(name) >= sizeof wanted) {
        return NULL;
    }
    (void)snprintf(full, sizeof full, "%.*s%s", (int)prefix, id, name);
    (void)snprintf(wanted, sizeof wanted, "%.*s%s", (int)(own - origin), origin, name);
    const sbml_symbol *symbol = sbml_find(r, full);
    if (!symbol || symbol->kind != NAME_FUNCTION) {
        return NULL;
    }
    const char *found =
        FunctionDefinition_getName(Model_getFunctionDefinition(r->sbml, (unsigned)symbol->index));
    return found && strcmp(found, wanted) == 0 ? symbol : NULL;
}

static bool is_call_of(const ASTNode_t *node, const char *name)
{
    const char *own = ASTNode_getType(node) == AST_FUNCTION ? ASTNode_getName(node) : NULL;
    return own && strncmp(own, name, strlen(name)) == 0;
}

/* Whether a call is still that of the function which it was written for. */
static bool is_call_of_own(const ASTNode_t *call, const FunctionDefinition_t *f)
{
    const ASTNode_t *last = ASTNode_getChild(call, ASTNode_getNumChildren(call) - 1);
    const char *origin = FunctionDefinition_getName(f);
    return origin && strcmp(ASTNode_getName(last) + sizeof OWN_TIME - 1, origin) == 0;
}

bool sbml_is_rate_of(const ASTNode_t *node)
{
    return ASTNode_getType(node) == AST_FUNCTION_RATE_OF || is_call_of(node, RATE_OF);
}

const ASTNode_t *sbml_own_time(const ASTNode_t *call)
{
    const unsigned n = ASTNode_getNumChildren(call);
    const ASTNode_t *last = n > 0 ? ASTNode_getChild(call, n - 1) : NULL;
    return last && is_call_of(last, OWN_TIME) ? ASTNode_getChild(last, 0) : NULL;
}

int sbml_n_arguments(const ASTNode_t *call)
{
    return (int)ASTNode_getNumChildren(call) - (sbml_own_time(call) ? 1 : 0);
}

saltus_status sbml_convert_time(sbml_converter *c, const sbml_scope *in, int depth,
                                const saltus_expr **out)
{
    const ASTNode_t *own = in->function ? sbml_own_time(in->call) : NULL;
    const char *origin = own ? FunctionDefinition_getName(in->function) : NULL;
    if (origin && *origin && !is_call_of_own(in->call, in->function)) {
        return sbml_refuse(c, SALTUS_E_UNSUPPORTED,
                           "uses function '%s', which uses the time of a submodel and replaces one "
                           "of another",
                           FunctionDefinition_getId(in->function));
    }
    if (origin && *origin) { /* else it is a function of the model, with its time */
        return sbml_convert_node(c, in->outer, own, depth, out);
    }
    *out = saltus_expr_time(&c->r->model->arena);
    return sbml_made(c, *out);
}

/* The time of a submodel is t/factor, or t/factor/factor of nested ones. */
saltus_status sbml_per_own_time(sbml_converter *c, const sbml_scope *in, const ASTNode_t *call,
                                int depth, const saltus_expr **rate)
{
    saltus_status status = SALTUS_OK;
    const ASTNode_t *own = sbml_own_time(call);
    while (own) {
        if (ASTNode_getType(own) == AST_NAME_TIME) {
            own = in->function ? sbml_own_time(in->call) : NULL;
            if (own && !is_call_of_own(in->call, in->function)) {
                return sbml_refuse(c, SALTUS_E_UNSUPPORTED,
                                   "uses function '%s', which uses rateOf() and replaces another",
                                   FunctionDefinition_getId(in->function));
            }
            in = in->outer;
            continue;
        }
        if (ASTNode_getType(own) != AST_DIVIDE || ASTNode_getNumChildren(own) != 2) {
            return sbml_refuse(c, SALTUS_E_UNSUPPORTED,
                               "uses rateOf() in a submodel whose time is converted otherwise than "
                               "by a quotient");
        }
        const saltus_expr *factor = NULL;
        SALTUS_TRY(sbml_convert_node(c, in, ASTNode_getChild(own, 1), depth + 1, &factor));
        *rate = saltus_expr_2(&c->r->model->arena, SALTUS_OP_MUL, *rate, factor);
        SALTUS_TRY(sbml_made(c, *rate));
        own = ASTNode_getChild(own, 0);
    }
done:
    return status;
}
