// The parts of programs of one.cu that are in a second module.

extern __device__ int two_v;
K(B_two) { two_v = n; }

extern __device__ int arrz_v[64];
K(B_arrz) { for (int i = threadIdx.x; i < 64; i += blockDim.x) arrz_v[i] = o[i]; }

__device__ void gs_set(int x);
__device__ int gs_get();
K(B_gs) { gs_set(n); o[n] = gs_get(); }

inline __device__ int inl_v = 3;
K(B_inl) { inl_v = n; }

template <class Q> __device__ int tmpl_v = 3;
K(B_tmpl) { tmpl_v<int> = n; }
