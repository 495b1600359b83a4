// Static variables of functions, which libnvvm ignores in the lists, and other cases in
// which slices need care.

// l1: a device function
__device__ int l1_f(int m, int x) { static int l1_v = 5; if (m) l1_v = x; return l1_v; }
K(A_l1) { o[n] = l1_f(0, n); }
K(B_l1) { o[n] = l1_f(1, n); }

// l2: a function that is not inlined
__device__ __noinline__ int l2_f(int m, int x) { static int l2_v = 5; if (m) l2_v = x; return l2_v; }
K(A_l2) { o[n] = l2_f(o[0], n); }
K(B_l2) { o[n] = l2_f(o[0], n); }

// l3: a static function
static __device__ int l3_f(int m, int x) { static int l3_v = 5; if (m) l3_v = x; return l3_v; }
K(A_l3) { o[n] = l3_f(0, n); }
K(B_l3) { o[n] = l3_f(1, n); }

// l4: a template; the variable is weak
template <class Q> __device__ int l4_f(int m, int x) { static int l4_v = 5; if (m) l4_v = x; return l4_v; }
K(A_l4) { o[n] = l4_f<int>(0, n); }
K(B_l4) { o[n] = l4_f<int>(1, n); }

// l5: no function, but an anonymous namespace
namespace { __device__ int l5_v = 5; }
K(A_l5) { o[n] = l5_v; }
K(B_l5) { l5_v = n; }

// l6: a member function
struct l6_s { static __device__ int l6_f(int m, int x) { static int l6_v = 5; if (m) l6_v = x; return l6_v; } };
K(A_l6) { o[n] = l6_s::l6_f(0, n); }
K(B_l6) { o[n] = l6_s::l6_f(1, n); }

// l7: no function, but a namespace
namespace nn { __device__ int l7_v = 5; }
K(A_l7) { o[n] = nn::l7_v; }
K(B_l7) { nn::l7_v = n; }

// l8: an array
__device__ int l8_f(int m, int x) { static int l8_v[4] = {5}; if (m) l8_v[x & 3] = x; return l8_v[x & 3]; }
K(A_l8) { o[n] = l8_f(0, n); }
K(B_l8) { o[n] = l8_f(1, n); }

// l9: a reference to a template's variable, written elsewhere
template <class Q> __device__ Q &l9_f() { static Q l9_v = 5; return l9_v; }
K(A_l9) { o[n] = l9_f<int>(); }
K(B_l9) { l9_f<int>() = n; }

// lt: a template's table that nobody writes; its kernels need not be together
template <class Q> __device__ Q lt_f(int i) { static const Q lt_v[4] = {1, 2, 3, 4}; return lt_v[i & 3]; }
K(A_lt) { o[n] = lt_f<int>(n); }
K(B_lt) { o[n] = lt_f<int>(n + 1); }

// lo: an object of no content, whose address every call passes
struct lo_s { __device__ int operator()(int x) const { return x + 1; } };
inline constexpr __device__ lo_s lo_v{};
K(A_lo) { o[n] = lo_v(n); }
K(B_lo) { o[n] = lo_v(n + 2); }

// u: each kernel stores another constant
inline __device__ int u_f(int m) { static int u_v = 0; if (m) u_v = m; return u_v; }
K(A_u) { o[n] = u_f(0); if (n) o[n + 1] = u_f(1); }
K(B_u) { o[n] = u_f(0); if (n) o[n + 1] = u_f(2); }

// am: a store of four bytes into a static array of bytes that follows another
static __device__ char am_p[3], am_v[16];
__device__ __noinline__ void am_h(void *p, int x) { *(int *)p = x; }
K(A_am) { o[n] = am_v[n & 15] + am_p[n % 3]; }
K(B_am) { am_h(am_v, n); am_p[n % 3] = n; }

// m: a variable that host code refers to
struct m_s { int a; float b; char c[8]; short e; };
__device__ m_s m_v = {1, 2, {3}};
void *m_address() { void *p; cudaGetSymbolAddress(&p, m_v); return p; }
K(A_m) { if (m_v.c[n & 7] > 7) o[n + 2] = 1; int x = m_v.c[n & 7]; o[n + 3] = x; o[n + 4] = m_v.e + x; }
K(B_m) { if (m_v.c[n & 7] > 7) o[n + 2] = 1; m_v.a = n; }
// m2, m3: variables that nobody writes
__device__ m_s m2_v = {1, 2, {3}};
K(A_m2) { if (m2_v.c[n & 7] > 7) o[n + 2] = 1; int x = m2_v.c[n & 7]; o[n + 3] = x; o[n + 4] = m2_v.e + x; }
K(B_m2) { if (m2_v.c[n & 7] > 7) o[n + 2] = 1; }
__constant__ m_s m3_v = {1, 2, {3}};
K(A_m3) { if (m3_v.c[n & 7] > 7) o[n + 2] = 1; int x = m3_v.c[n & 7]; o[n + 3] = x; o[n + 4] = m3_v.e + x; }
K(B_m3) { if (m3_v.c[n & 7] > 7) o[n + 2] = 1; }

// c1: no variable, but a function whose argument is another constant in each kernel
__device__ __noinline__ int c1_f(int m, int x) { return m ? x * x : x + 7; }
K(A_c1) { o[n] = c1_f(0, n) + c1_f(0, n + 1); }
K(B_c1) { o[n] = c1_f(1, n) + c1_f(1, n + 3); }

// c2: a function whose result only one kernel uses
__device__ __noinline__ int c2_f(int *p, int x) { p[3] = x; return x * x; }
K(A_c2) { c2_f(o, n); c2_f(o + 1, n); }
K(B_c2) { o[n] = c2_f(o, n) + c2_f(o + 2, n); }

// c3: a function too large to be inlined twice
__device__ int c3_f(int *p, int x) {
  for (int i = 0; i < x; i++) {
    p[i] += x * i;
    for (int j = 0; j < p[i]; j++) p[j] = p[j + 3] * p[j + 5] + (p[j] & 1 ? -i : j * i);
  }
#define R(q)                                                       \
  if (p[q] > x) { p[q + 1] += p[q] / (x + q); p[q + 2] ^= p[q + 1] * p[q + 3]; } \
  else { p[q] -= x * q; p[q + 5] = p[q + 6] % (x + q + 1); }       \
  for (int i = q; i < x; i++) p[i] += p[i + q] * p[i - q] + q;
#define R8(q) R(q) R(q + 1) R(q + 2) R(q + 3) R(q + 4) R(q + 5) R(q + 6) R(q + 7)
  R8(1) R8(9) R8(17) R8(25) R8(33)
  return p[x];
}
K(A_c3) { o[n] = c3_f(o, n); }
K(B_c3) { o[n] = c3_f(o + 3, n + 1); }
