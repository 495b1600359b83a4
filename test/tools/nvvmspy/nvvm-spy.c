/*
 * nvvm-spy.c - a logging / fault-injecting stand-in for NVIDIA's libnvvm.so.
 *
 * Build:   gcc -shared -fPIC -O1 -g -o DIR/lib64/libnvvm.so nvvm-spy.c -ldl
 * Use:     nvlink -dlto -nvvmpath=DIR ...       (nvlink loads DIR/lib64/libnvvm.so)
 *
 * Every public nvvm* entry point and the private dispatcher __nvvmHandle() are exported, each
 * call is logged and forwarded to the real library.  Function pointers handed out by
 * __nvvmHandle() for the four codes nvlink uses are replaced by logging trampolines.
 *
 * Environment:
 *   NVVM_SPY_REAL   path of the real libnvvm.so  (required)
 *   NVVM_SPY_LOG    log file, appended           (default stderr)
 *   NVVM_SPY_DUMP   directory: modules are dumped as mod<N>.ltoir, the result as result.ptx,
 *                   callback payloads as cb<N>.bin, result shards as shard<N>.ptx
 *   NVVM_SPY_FAULT  comma separated list of faults  fn:action  where
 *                     fn     = create add compile verify logsize log ressize result destroy
 *                              count(0xF00D) sizes(0xB0BA) callback(0xBEEF)
 *                     action = N       do the real call, but return N instead
 *                              =N      do not do the real call, return N
 *                              segv    raise SIGSEGV by a wild write
 *                              abort   call abort()
 *                              fpe     raise SIGFPE
 *                              exit    call exit(7)
 *                              term    kill(getpid(), SIGTERM)
 *                              hang    never return
 *                              greed   take memory until there is no more, then abort
 *                              null    (add/count/sizes/callback only) __nvvmHandle returns NULL
 *   NVVM_SPY_WHEN     only if an option of nvvmCompileProgram has this text in it, there is a fault in compile
 *   NVVM_SPY_ONCE     a file: only as long as it does not exist, there is a fault in compile, which makes it
 *   NVVM_SPY_LOGTEXT  pretend that the program log is this text
 *   NVVM_SPY_STDERR   text that nvvmCompileProgram writes to standard error
 *   NVVM_SPY_PTX      pretend that the compiled result is the content of this file
 *   NVVM_SPY_ADDOPT   extra options appended to nvvmCompileProgram (space separated)
 *   NVVM_SPY_COUNT    value stored by the 0xF00D count getter instead of the real one
 *
 * A symbol can be left out of the build with -DHIDE_<name> (e.g. -DHIDE_nvvmGetErrorString) to
 * test "missing symbol" handling.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

typedef uintptr_t U;
typedef U (*fn6)(U, U, U, U, U, U);

/* ---------------------------------------------------------------- logging */

static void say(const char *fmt, ...)
{
    static FILE *f;
    if (!f) {
        const char *p = getenv("NVVM_SPY_LOG");
        f = p ? fopen(p, "a") : stderr;
        if (!f) f = stderr;
        setvbuf(f, NULL, _IONBF, 0);
    }
    __builtin_va_list ap;
    __builtin_va_start(ap, fmt);
    vfprintf(f, fmt, ap);
    __builtin_va_end(ap);
}

/* Read our own memory without faulting on a wild pointer. */
static ssize_t peek(U addr, void *buf, size_t n)
{
    struct iovec l = {buf, n}, r = {(void *)addr, n};
    return process_vm_readv(getpid(), &l, 1, &r, 1, 0);
}

/* Describe an unknown argument: a small integer, a string, or a pointer with its first bytes. */
static const char *describe(U v)
{
    static char out[8][160];
    static int k;
    char *o = out[k++ & 7];
    unsigned char b[48];
    if (v < 0x10000) { sprintf(o, "%lu(0x%lx)", v, v); return o; }
    ssize_t n = peek(v, b, sizeof b);
    if (n <= 0) n = peek(v, b, 8);
    if (n <= 0) { sprintf(o, "0x%lx", v); return o; }
    int len = 0;
    while (len < n && b[len] >= 32 && b[len] < 127) len++;
    if (len >= 2 && (len == n || b[len] == 0)) { sprintf(o, "\"%.*s\"%s", len, b, len == n ? "..." : ""); return o; }
    sprintf(o, "ptr->[%02x %02x %02x %02x %02x %02x %02x %02x]", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]);
    return o;
}

static void dump(const char *name, int idx, const char *ext, const void *data, size_t size)
{
    const char *dir = getenv("NVVM_SPY_DUMP");
    if (!dir) return;
    char path[4096];
    if (idx >= 0) snprintf(path, sizeof path, "%s/%s%d.%s", dir, name, idx, ext);
    else snprintf(path, sizeof path, "%s/%s.%s", dir, name, ext);
    FILE *f = fopen(path, "wb");
    if (f) { fwrite(data, 1, size, f); fclose(f); }
}

/* ---------------------------------------------------------------- fault injection */

/* Returns the action configured for fn, or NULL. */
static const char *fault(const char *fn)
{
    static char buf[64];
    const char *p = getenv("NVVM_SPY_FAULT");
    size_t n = strlen(fn);
    while (p && *p) {
        const char *e = strchr(p, ',');
        size_t l = e ? (size_t)(e - p) : strlen(p);
        if (l > n + 1 && !strncmp(p, fn, n) && p[n] == ':') {
            snprintf(buf, sizeof buf, "%.*s", (int)(l - n - 1), p + n + 1);
            return buf;
        }
        p = e ? e + 1 : NULL;
    }
    return NULL;
}

/* Before the real call: crash if asked to; returns 1 and sets *rc when the call must be skipped. */
static int before(const char *fn, U *rc)
{
    const char *a = fault(fn);
    if (!a) return 0;
    if (!strcmp(a, "segv"))  { say("  !! injecting SIGSEGV in %s\n", fn); *(volatile int *)8 = 1; }
    if (!strcmp(a, "fpe")) { say("  !! injecting SIGFPE in %s\n", fn); raise(SIGFPE); }
    if (!strcmp(a, "abort")) { say("  !! injecting abort in %s\n", fn); abort(); }
    if (!strcmp(a, "exit"))  { say("  !! injecting exit(7) in %s\n", fn); exit(7); }
    if (!strcmp(a, "term")) { say("  !! injecting SIGTERM in %s\n", fn); kill(getpid(), SIGTERM); }
    if (!strcmp(a, "hang")) { say("  !! hanging in %s\n", fn); for (;;) pause(); }
    if (!strcmp(a, "greed")) {
        const size_t n = 16 << 20;
        say("  !! taking memory in %s\n", fn);
        for (void *p; (p = malloc(n)); ) memset(p, 1, n);
        fprintf(stderr, "LLVM ERROR: out of memory\n");
        abort();
    }
    if (a[0] == '=') { *rc = strtoul(a + 1, 0, 0); return 1; }
    return 0;
}

/* After the real call: replace the return code if asked to. */
static U after(const char *fn, U rc)
{
    const char *a = fault(fn);
    if (a && a[0] >= '0' && a[0] <= '9') {
        say("  !! %s really returned %d, faking %s\n", fn, (int)rc, a);
        return strtoul(a, 0, 0);
    }
    return rc;
}

/* ---------------------------------------------------------------- the real library */

static void *real(const char *sym)
{
    static void *h;
    if (!h) {
        const char *p = getenv("NVVM_SPY_REAL");
        if (!p) { fprintf(stderr, "nvvm-spy: NVVM_SPY_REAL is not set\n"); abort(); }
        h = dlopen(p, RTLD_NOW | RTLD_LOCAL);
        if (!h) { fprintf(stderr, "spy: %s\n", dlerror()); _exit(99); }
    }
    void *s = dlsym(h, sym);
    if (!s) say("  !! real library has no %s\n", sym);
    return s;
}

#define REAL(name) static fn6 r; if (!r) r = (fn6)real(#name)

__attribute__((constructor)) static void ctor(void)
{
    char cmd[8192] = "";
    FILE *f = fopen("/proc/self/cmdline", "rb");
    size_t n = f ? fread(cmd, 1, sizeof cmd - 1, f) : 0;
    if (f) fclose(f);
    for (size_t i = 0; i + 1 < n; i++) if (!cmd[i]) cmd[i] = ' ';
    say("# spy loaded by pid %d: %s\n", (int)getpid(), cmd);
}

__attribute__((destructor)) static void dtor(void) { say("# spy unloaded (normal process exit)\n"); }

/* ---------------------------------------------------------------- public API */

#ifndef HIDE_nvvmVersion
int nvvmVersion(int *a, int *b) { REAL(nvvmVersion); int rc = r((U)a, (U)b, 0, 0, 0, 0); say("nvvmVersion -> %d.%d rc=%d\n", *a, *b, rc); return rc; }
#endif
#ifndef HIDE_nvvmIRVersion
int nvvmIRVersion(int *a, int *b, int *c, int *d) { REAL(nvvmIRVersion); int rc = r((U)a, (U)b, (U)c, (U)d, 0, 0); say("nvvmIRVersion -> %d.%d dbg %d.%d rc=%d\n", *a, *b, *c, *d, rc); return rc; }
#endif
#ifndef HIDE_nvvmGetErrorString
const char *nvvmGetErrorString(int e) { REAL(nvvmGetErrorString); const char *s = (const char *)r((U)e, 0, 0, 0, 0, 0); say("nvvmGetErrorString(%d) -> \"%s\"\n", e, s ? s : "(null)"); return s; }
#endif

#ifndef HIDE_nvvmCreateProgram
int nvvmCreateProgram(void **prog)
{
    REAL(nvvmCreateProgram);
    U rc;
    say("nvvmCreateProgram(&prog)\n");
    if (!before("create", &rc)) rc = r((U)prog, 0, 0, 0, 0, 0);
    rc = after("create", rc);
    say("  -> rc=%d prog=%p\n", (int)rc, *prog);
    return rc;
}
#endif

#ifndef HIDE_nvvmDestroyProgram
int nvvmDestroyProgram(void **prog)
{
    REAL(nvvmDestroyProgram);
    U rc;
    say("nvvmDestroyProgram(&prog=%p)\n", *prog);
    if (!before("destroy", &rc)) rc = r((U)prog, 0, 0, 0, 0, 0);
    rc = after("destroy", rc);
    say("  -> rc=%d prog=%p\n", (int)rc, *prog);
    return rc;
}
#endif

static int nmod;

#ifndef HIDE_nvvmAddModuleToProgram
int nvvmAddModuleToProgram(void *prog, const char *buf, size_t size, const char *name)
{
    REAL(nvvmAddModuleToProgram);
    dump("mod", nmod++, "ltoir", buf, size);
    U rc = r((U)prog, (U)buf, size, (U)name, 0, 0);
    say("nvvmAddModuleToProgram(prog, buf, size=%zu, name=\"%s\") -> rc=%d\n", size, name ? name : "(null)", (int)rc);
    return rc;
}
#endif
#ifndef HIDE_nvvmLazyAddModuleToProgram
int nvvmLazyAddModuleToProgram(void *prog, const char *buf, size_t size, const char *name)
{
    REAL(nvvmLazyAddModuleToProgram);
    dump("mod", nmod++, "ltoir", buf, size);
    U rc = r((U)prog, (U)buf, size, (U)name, 0, 0);
    say("nvvmLazyAddModuleToProgram(prog, buf, size=%zu, name=\"%s\") -> rc=%d\n", size, name ? name : "(null)", (int)rc);
    return rc;
}
#endif

#ifndef HIDE_nvvmVerifyProgram
int nvvmVerifyProgram(void *prog, int n, const char **opts)
{
    REAL(nvvmVerifyProgram);
    say("nvvmVerifyProgram(prog, n=%d)\n", n);
    for (int i = 0; i < n; i++) say("  opt[%d]=<%s>\n", i, opts[i]);
    U rc = r((U)prog, n, (U)opts, 0, 0, 0);
    say("  -> rc=%d\n", (int)rc);
    return rc;
}
#endif

#ifndef HIDE_nvvmCompileProgram
/* Whether the faults of nvvmCompileProgram are for this call. */
static int armed(int n, const char **opts)
{
    const char *when = getenv("NVVM_SPY_WHEN"), *once = getenv("NVVM_SPY_ONCE");
    int hit = !when;
    for (int i = 0; i < n && when; i++) hit = hit || strstr(opts[i], when);
    if (hit && once) {
        int f = open(once, O_CREAT | O_EXCL | O_WRONLY, 0600);
        hit = f >= 0;
        if (hit) close(f);
    }
    return hit;
}

int nvvmCompileProgram(void *prog, int n, const char **opts)
{
    REAL(nvvmCompileProgram);
    U rc;
    say("nvvmCompileProgram(prog=%p, n=%d)\n", prog, n);
    for (int i = 0; i < n; i++) say("  opt[%d]=<%s>\n", i, opts[i]);
    if (getenv("NVVM_SPY_STDERR")) fprintf(stderr, "%s\n", getenv("NVVM_SPY_STDERR"));
    const char **v = opts;
    int m = n;
    char *extra = getenv("NVVM_SPY_ADDOPT");
    if (extra) {
        v = malloc((n + 64) * sizeof *v);
        memcpy(v, opts, n * sizeof *v);
        extra = strdup(extra);
        for (char *t = strtok(extra, " "); t; t = strtok(NULL, " ")) { v[m++] = t; say("  +opt <%s>\n", t); }
    }
    if (!armed(n, opts) || !before("compile", &rc)) rc = r((U)prog, m, (U)v, 0, 0, 0);
    rc = after("compile", rc);
    say("  -> rc=%d\n", (int)rc);
    return rc;
}
#endif

#ifndef HIDE_nvvmGetProgramLogSize
int nvvmGetProgramLogSize(void *prog, size_t *sz)
{
    REAL(nvvmGetProgramLogSize);
    U rc;
    if (!before("logsize", &rc)) rc = r((U)prog, (U)sz, 0, 0, 0, 0);
    const char *t = getenv("NVVM_SPY_LOGTEXT");
    if (t) *sz = strlen(t) + 1;
    rc = after("logsize", rc);
    say("nvvmGetProgramLogSize -> %zu rc=%d\n", *sz, (int)rc);
    return rc;
}
#endif

#ifndef HIDE_nvvmGetProgramLog
int nvvmGetProgramLog(void *prog, char *buf)
{
    REAL(nvvmGetProgramLog);
    U rc;
    const char *t = getenv("NVVM_SPY_LOGTEXT");
    if (t) { strcpy(buf, t); rc = 0; }
    else if (!before("log", &rc)) rc = r((U)prog, (U)buf, 0, 0, 0, 0);
    rc = after("log", rc);
    say("nvvmGetProgramLog -> rc=%d text=<<%s>>\n", (int)rc, buf);
    return rc;
}
#endif

static size_t lastSize;
static uint64_t shardSize[4096];
static int nshard;

static char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    *n = ftell(f);
    rewind(f);
    char *b = malloc(*n + 1);
    *n = fread(b, 1, *n, f);
    b[(*n)++] = 0;
    fclose(f);
    return b;
}

#ifndef HIDE_nvvmGetCompiledResultSize
int nvvmGetCompiledResultSize(void *prog, size_t *sz)
{
    REAL(nvvmGetCompiledResultSize);
    U rc;
    if (!before("ressize", &rc)) rc = r((U)prog, (U)sz, 0, 0, 0, 0);
    if (getenv("NVVM_SPY_PTX")) { free(slurp(getenv("NVVM_SPY_PTX"), sz)); rc = 0; }
    rc = after("ressize", rc);
    lastSize = *sz;
    say("nvvmGetCompiledResultSize -> %zu rc=%d\n", *sz, (int)rc);
    return rc;
}
#endif

#ifndef HIDE_nvvmGetCompiledResult
int nvvmGetCompiledResult(void *prog, char *buf)
{
    REAL(nvvmGetCompiledResult);
    U rc;
    if (getenv("NVVM_SPY_PTX")) { /* the caller's buffer has the size of the fake: no real call */
        size_t n; char *b = slurp(getenv("NVVM_SPY_PTX"), &n); memcpy(buf, b, n); free(b); rc = 0;
    } else if (!before("result", &rc)) rc = r((U)prog, (U)buf, 0, 0, 0, 0);
    rc = after("result", rc);
    say("nvvmGetCompiledResult(prog, buf) -> rc=%d strlen=%zu last byte=%d\n", (int)rc, rc ? 0 : strnlen(buf, lastSize), rc || !lastSize ? -1 : buf[lastSize - 1]);
    if (!rc) {
        dump("result", -1, "ptx", buf, lastSize);
        size_t off = 0;
        for (int i = 0; i < nshard; i++) { dump("shard", i, "ptx", buf + off, shardSize[i]); off += shardSize[i]; }
    }
    return rc;
}
#endif

#ifndef HIDE_nvvmDisableConcurrentAPI
int nvvmDisableConcurrentAPI(U a, U b) { REAL(nvvmDisableConcurrentAPI); say("nvvmDisableConcurrentAPI\n"); return r(a, b, 0, 0, 0, 0); }
#endif

/* ---------------------------------------------------------------- __nvvmHandle and its functions */

static fn6 realAdd, realSizes, realCount, realCallback, userCallback;

/* 0x2080: add module.  Log all six argument registers so that the order is visible. */
static U spyAdd(U a, U b, U c, U d, U e, U f)
{
    U rc;
    say("handle[0x2080](a1=%s a2=%s a3=%s a4=%s)\n", describe(a), describe(b), describe(c), describe(d));
    if (c < (1UL << 32)) dump("mod", nmod, "ltoir", (void *)b, c);          /* (prog, buf, size, name) */
    else if (d < (1UL << 32)) dump("mod", nmod, "ltoir", (void *)c, d);     /* (prog, name, buf, size) */
    nmod++;
    if (!before("add", &rc)) rc = realAdd(a, b, c, d, e, f);
    rc = after("add", rc);
    say("  -> rc=%d\n", (int)rc);
    return rc;
}

/* 0xF00D: number of results. */
static U spyCount(U a, U b, U c, U d, U e, U f)
{
    U rc;
    if (!before("count", &rc)) rc = realCount(a, b, c, d, e, f);
    const char *fake = getenv("NVVM_SPY_COUNT");
    if (fake) *(int *)b = atoi(fake);
    rc = after("count", rc);
    say("handle[0xF00D](a1=%s a2=&out a3=0x%lx) -> rc=%d out(int)=%d out(u64)=%lu\n", describe(a), c, (int)rc, *(int *)b, *(uint64_t *)b);
    return rc;
}

/* 0xB0BA: sizes of the results. */
static U spySizes(U a, U b, U c, U d, U e, U f)
{
    U rc;
    say("handle[0xB0BA](a1=%s a2=0x%lx a3=0x%lx a4=0x%lx)\n", describe(a), b, c, d);
    if (!before("sizes", &rc)) rc = realSizes(a, b, c, d, e, f);
    rc = after("sizes", rc);
    say("  -> rc=%d\n", (int)rc);
    uint64_t *arr = NULL; int n = 0;
    if (b < 4096 && c > 0x10000) { n = b; arr = (uint64_t *)c; }       /* (prog, count, array) */
    else if (c < 4096 && b > 0x10000) { n = c; arr = (uint64_t *)b; }  /* (prog, array, count) */
    nshard = 0;
    for (int i = 0; i < n; i++) { say("  size[%d]=%lu\n", i, arr[i]); shardSize[nshard++] = arr[i]; }
    return rc;
}

static int ncb;
static U cbTrampoline(U a, U b, U c, U d, U e, U f)
{
    say("callback(a1=%s a2=%s a3=%s a4=%s)\n", describe(a), describe(b), describe(c), describe(d));
    say("  raw a1=0x%lx a2=0x%lx a3=0x%lx a4=0x%lx\n", a, b, c, d);
    if (a > 0x10000 && b < (1UL << 32)) dump("cb", ncb++, "bin", (void *)a, b);
    U rc = userCallback(a, b, c, d, e, f);
    say("  callback returned 0x%lx\n", rc);
    return rc;
}

/* 0xBEEF: register a callback; the callback itself is wrapped too. */
static U spyCallback(U a, U b, U c, U d, U e, U f)
{
    U rc;
    say("handle[0xBEEF](a1=%s a2=fn 0x%lx a3=0x%lx a4=0x%lx)\n", describe(a), b, c, d);
    userCallback = (fn6)b;
    if (!before("callback", &rc)) rc = realCallback(a, (U)cbTrampoline, c, d, e, f);
    rc = after("callback", rc);
    say("  -> rc=%d\n", (int)rc);
    return rc;
}

#ifndef HIDE___nvvmHandle
void *__nvvmHandle(unsigned code)
{
    static void *(*r)(unsigned);
    if (!r) r = (void *(*)(unsigned))real("__nvvmHandle");
    void *p = r(code);
    struct { unsigned code; const char *name; fn6 *slot; void *tramp; } t[] = {
        {0x2080, "add", &realAdd, spyAdd}, {0xB0BA, "sizes", &realSizes, spySizes},
        {0xF00D, "count", &realCount, spyCount}, {0xBEEF, "callback", &realCallback, spyCallback}};
    for (unsigned i = 0; i < 4; i++) {
        if (t[i].code != code) continue;
        const char *a = fault(t[i].name);
        if (a && !strcmp(a, "null")) { say("__nvvmHandle(0x%X) -> NULL (injected)\n", code); return NULL; }
        say("__nvvmHandle(0x%X) -> %s\n", code, p ? "fn" : "NULL");
        if (!p) return NULL;
        *t[i].slot = (fn6)p;
        return t[i].tramp;
    }
    say("__nvvmHandle(0x%X) -> %p (not wrapped)\n", code, p);
    return p;
}
#endif

#ifndef HIDE___nvvmHandleTarget
void *__nvvmHandleTarget(U a, U b, U c, U d) { REAL(__nvvmHandleTarget); void *p = (void *)r(a, b, c, d, 0, 0); say("__nvvmHandleTarget(0x%lx,0x%lx,0x%lx) -> %p\n", a, b, c, p); return p; }
#endif
