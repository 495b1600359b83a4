// Small programs of two or three kernels that share something: A reads what B writes, unless
// a comment states otherwise. Programs have nothing in common, and all are linked together.
// Some have a part in two.cu. A blank line separates programs, and none is inside of one.

// scalars
__device__ int sini_v = 5;
K(A_sini) { o[n] = sini_v * 3; }
K(B_sini) { sini_v = n; }

__device__ int szer_v;
K(A_szer) { o[n] = szer_v * 3; }
K(B_szer) { szer_v = n; }

static __device__ int stat_v = 7;
K(A_stat) { o[n] = stat_v * 3; }
K(B_stat) { stat_v = n; }

__device__ int two_v = 5; // B is in two.cu
K(A_two) { o[n] = two_v * 3; }

// arrays and structs
__device__ int arrc_v[8] = {1, 2, 3, 4, 5, 6, 7, 8};
K(A_arrc) { o[n] = arrc_v[3] + arrc_v[5]; }
K(B_arrc) { arrc_v[3] = n; }

__device__ int arrd_v[64] = {1, 2, 3};
K(A_arrd) { o[n] = arrd_v[n & 63]; }
K(B_arrd) { arrd_v[n & 63] = o[0]; }

__device__ int arrz_v[64]; // B is in two.cu
K(A_arrz) { o[n] = arrz_v[n & 63]; }

struct fld_s { int x, y; };
__device__ fld_s fld_v = {3, 4}; // B writes another field
K(A_fld) { o[n] = fld_v.x; }
K(B_fld) { fld_v.y = n; o[0] = fld_v.y; }

struct fld2_s { int x, y; float z[3]; };
__device__ fld2_s fld2_v = {3, 4, {1, 2, 3}};
K(A_fld2) { o[n] = fld2_v.x + fld2_v.y + (int)fld2_v.z[1]; }
K(B_fld2) { fld2_v.y = n; fld2_v.x = n + 1; }

// pointers
__device__ int *ptra_v;
K(A_ptra) { o[n] = ptra_v[n]; }
K(B_ptra) { ptra_v = o; }

__device__ int ptrv_a[16] = {1, 2};
__device__ int *ptrv_v;
K(A_ptrv) { if (ptrv_v) o[n] = ptrv_v[n & 15]; }
K(B_ptrv) { ptrv_v = ptrv_a; ptrv_a[n & 15] = n; }

// values that the compiler knows something about
__device__ int boo_v; // one constant is stored
K(A_boo) { o[n] = boo_v * 7; }
K(B_boo) { if (o[0]) boo_v = 1; }

__device__ int same_v = 5; // the initial value is stored
K(A_same) { o[n] = same_v * 3; }
K(B_same) { same_v = 5; }

__device__ int rng_v; // only 0 to 3 is stored
K(A_rng) { if ((unsigned)rng_v <= 3u) o[n] = 1; else o[n] = o[n + 1] * 17; }
K(B_rng) { rng_v = n & 3; }

// writes through addresses
__device__ int adr_v = 5, adr_u[2];
__device__ __noinline__ void adr_w(int *p, int x) { *p = x; p[1] = x * x; }
K(A_adr) { o[n] = adr_v; }
K(B_adr) { adr_w(&adr_v, n); adr_w(adr_u, n); }

__device__ int ini_v = 5;
__device__ int *ini_p = &ini_v;
K(A_ini) { o[n] = ini_v * 3; }
K(B_ini) { *ini_p = n; }

__device__ int esc_v = 5; // B gives the address away
K(A_esc) { o[n] = esc_v * 3; }
K(B_esc) { *(int **)o = &esc_v; }

__device__ int atom_v = 5;
K(A_atom) { o[n] = atom_v * 3; }
K(B_atom) { atomicAdd(&atom_v, n); }

__device__ unsigned cas_v = 5;
K(A_cas) { o[n] = atomicCAS(&cas_v, 1, n); }
K(B_cas) { o[n] = atomicExch(&cas_v, n); }

// functions
__device__ int gs_v = 5; // B is in two.cu
__device__ int gs_get() { return gs_v; }
__device__ void gs_set(int x) { gs_v = x; }
K(A_gs) { o[n] = gs_get() * 3; }

__device__ int acc_v = 5;
__device__ __noinline__ int acc_f(int m, int x) { if (m) acc_v = x; return acc_v * 3 + x; }
K(A_acc) { o[n] = acc_f(0, n) + acc_f(0, n + 2); }
K(B_acc) { o[n] = acc_f(1, n) + acc_f(1, n * 5); }

struct mcl_s { int a; float b[7]; };
__device__ mcl_s mcl_v = {1, {2, 3}}; // byte by byte
K(A_mcl) { o[n] = mcl_v.a + (int)mcl_v.b[n & 7]; }
K(B_mcl) {
  char *d = (char *)&mcl_v;
  const char *s = (const char *)o;
  for (int i = 0; i < (int)sizeof(mcl_s); i++) d[i] = s[i];
}

struct mcs_s { int a; float b[7]; };
__device__ mcs_s mcs_v = {1, {2, 3}};
K(A_mcs) { o[n] = mcs_v.a + (int)mcs_v.b[2]; }
K(B_mcs) { mcs_v = *(mcs_s *)o; }

// function pointers
__device__ int fp_1(int x) { return x + 1; }
__device__ int fp_2(int x) { return x * x; }
__device__ int (*fp_v)(int) = fp_1;
K(A_fp) { o[n] = fp_v(n); }
K(B_fp) { fp_v = fp_2; }

__device__ int fp0_1(int x) { return x + 1; }
__device__ int (*fp0_v)(int); // one function is stored
K(A_fp0) { o[n] = fp0_v(n); }
K(B_fp0) { fp0_v = fp0_1; }

__device__ int fpt_1(int x) { return x + 1; }
__device__ int fpt_2(int x) { return x * x; }
__device__ int (*fpt_v[2])(int) = {fpt_1, fpt_2}; // nobody writes
K(A_fpt) { o[n] = fpt_v[n & 1](n); }
K(B_fpt) { o[n] = fpt_v[1](n); }

// constants and shared memory
__constant__ int con_v = 5;
K(A_con) { o[n] = con_v * 3; }
K(B_con) { o[n] = con_v + 1; }

__constant__ int cona_v[16] = {1, 2, 3, 4};
K(A_cona) { o[n] = cona_v[n & 15]; }
K(B_cona) { o[n] = cona_v[2]; }

__constant__ int conw_v = 5;
K(A_conw) { o[n] = conw_v * 3; }
K(B_conw) { *(const int **)o = &conw_v; }

__shared__ int shm_v[64];
K(A_shm) { shm_v[threadIdx.x & 63] = o[threadIdx.x]; __syncthreads(); o[n] = shm_v[n & 63]; }
K(B_shm) { shm_v[threadIdx.x & 63] = n; __syncthreads(); o[n] = shm_v[(n + 1) & 63]; }

__shared__ int shm2_v; // A reads what it has not written
K(A_shm2) { o[n] = shm2_v; }
K(B_shm2) { shm2_v = n; __syncthreads(); o[n] = shm2_v; }

// code that never runs
__device__ int dead_v = 5;
K(A_dead) { o[n] = dead_v * 3; }
K(B_dead) { o[n] = dead_v + 1; }
static __global__ void dead_d(int n) { dead_v = n; }

__device__ int ntid_v = 5;
K(A_ntid) { o[n] = ntid_v * 3; }
K(B_ntid) { if (threadIdx.x > 2000) ntid_v = n; }

__device__ __noinline__ int nfun_f(int x) { return 0; }
__device__ int nfun_v = 5;
K(A_nfun) { o[n] = nfun_v * 3; }
K(B_nfun) { if (nfun_f(n) == 1) nfun_v = n; }

__device__ int nvar_e = 0, nvar_v = 5;
K(A_nvar) { o[n] = nvar_v * 3; }
K(B_nvar) { if (nvar_e) nvar_v = n; }

__device__ int nlate_v = 5;
K(A_nlate) { o[n] = nlate_v * 3; }
K(B_nlate) {
  int s = 0;
  for (int i = 0; i < 40; i++) s += (i & 1) ? 1 : -1;
  if (s) nlate_v = n;
}

// nobody writes, or nobody reads
__device__ int now_v = 5;
K(A_now) { o[n] = now_v * 3; }
K(B_now) { o[n] = now_v + 1; }

__device__ int nowa_v[64] = {1, 2, 3};
K(A_nowa) { o[n] = nowa_v[n & 63]; }
K(B_nowa) { o[n] = nowa_v[(n + 1) & 63]; }

__device__ int nowz_v[64];
K(A_nowz) { o[n] = nowz_v[n & 63]; }
K(B_nowz) { o[n] = nowz_v[(n + 1) & 63]; }

__device__ int wo_v;
K(A_wo) { wo_v = n; o[n] = 1; }
K(B_wo) { wo_v = n + 1; o[n] = 2; }

// both write
__device__ int flag_v;
K(A_flag) { int x = flag_v; if (n) flag_v = 1; o[n] = x; }
K(B_flag) { int x = flag_v; if (n) flag_v = 2; o[n] = x; }

__device__ int scr_v;
K(A_scr) { scr_v = n; __threadfence(); o[n] = scr_v; }
K(B_scr) { scr_v = n + 1; __threadfence(); o[n] = scr_v; }

// alignment
__device__ char ali_v[64];
K(A_ali) { int s = 0; for (int i = 0; i < 16; i++) s += ali_v[i]; o[n] = s; }
K(B_ali) {
  uint4 x;
  __builtin_memcpy(&x, o, 16);
  __builtin_memcpy(ali_v, &x, 16);
  ((uint4 *)ali_v)[1] = x;
}

__device__ float ali2_v[16];
K(A_ali2) { o[n] = ali2_v[0] + ali2_v[1] + ali2_v[2] + ali2_v[3]; }
K(B_ali2) { *(float4 *)&ali2_v[4 * (n & 3)] = *(float4 *)o; }

// loads around stores
__device__ int aa_v = 5;
K(A_aa) { int x = aa_v; o[n] = x; int y = aa_v; o[n + 1] = y + 1; }
K(B_aa) { aa_v = n; }

__device__ int aae_v = 5;
K(A_aae) { int x = aae_v; o[n] = x; int y = aae_v; o[n + 1] = y + 1; }
K(B_aae) { *(int **)o = &aae_v; }

__device__ int aaw_v = 5; // A writes and reads
K(A_aaw) { aaw_v = n; o[n] = 1; o[1] = aaw_v; }
K(B_aaw) { o[n] = aaw_v; }

// variables of several modules; B is in two.cu
inline __device__ int inl_v = 3;
K(A_inl) { o[n] = inl_v * 3; }

template <class Q> __device__ int tmpl_v = 3;
K(A_tmpl) { o[n] = tmpl_v<int> * 3; }

__device__ __forceinline__ int loc_f(int m, int x) {
  static __device__ int loc_v = 5;
  if (m) loc_v = x;
  return loc_v;
}
K(A_loc) { o[n] = loc_f(0, n); }
K(B_loc) { o[n] = loc_f(1, n); }

__device__ __managed__ int man_v = 5;
K(A_man) { o[n] = man_v * 3; }
K(B_man) { man_v = n; }

struct virt_b { __device__ virtual int f(int) = 0; };
struct virt_d : virt_b { __device__ int f(int x) { return x * 5; } };
__device__ virt_b *virt_v;
K(A_virt) { o[n] = virt_v->f(n); }
K(B_virt) { virt_v = new virt_d; }

// volatile
__device__ int vol_v = 5;
K(A_vol) { o[n] = *(volatile int *)&vol_v; }
K(B_vol) { vol_v = n; }

__device__ volatile int volv_v = 5;
K(A_volv) { o[n] = volv_v; }
K(B_volv) { volv_v = n; }

// chains
__device__ int rev_v[4]; // A writes, B reads
K(A_rev) { rev_v[n & 3] = n; o[n] = 1; }
K(B_rev) { o[n] = rev_v[n & 3]; }

__device__ int chain_v = 5, chain_w = 6;
K(A_chain) { o[n] = chain_v * 3; }
K(B_chain) { chain_v = chain_w; }
K(C_chain) { chain_w = n; }

__device__ int icall_v = 5;
__device__ __noinline__ void icall_w(int x) { icall_v = x; }
__device__ void (*icall_p)(int);
K(A_icall) { o[n] = icall_v * 3; }
K(B_icall) { icall_p = icall_w; }
K(C_icall) { if (icall_p) icall_p(n); }

__device__ int asm_v = 5;
K(A_asm) { o[n] = asm_v * 3; }
K(B_asm) { asm volatile("st.global.u32 [%0],%1;" ::"l"(__cvta_generic_to_global(&asm_v)), "r"(n) : "memory"); }

__device__ float rot_v[32] = {1, 2, 3}, rot_w[32]; // B writes the other table
K(A_rot) { float s = 0; for (int i = 0; i < n; i++) s += rot_v[i & 31] * rot_w[(i + 1) & 31]; o[0] = s; }
K(B_rot) { rot_w[n & 31] = n; }

__device__ unsigned long long ro_v[16];
K(A_ro) { for (int i = 0; i < n; i++) o[i] = (int)ro_v[3] + (int)ro_v[i & 15]; }
K(B_ro) { atomicAdd(&ro_v[n & 15], 1ull); }
