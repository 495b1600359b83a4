// A kernel with parameters of more than 4 KB (EIATTR_KPARAM_INFO_V2), and one with a largest size of clusters where
// there are clusters (EIATTR_MAX_CLUSTER_RANK).
struct Large {
  int words[2250];
};
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
#define BOUNDS __launch_bounds__(128, 1, 8)
#else
#define BOUNDS __launch_bounds__(128, 1)
#endif
extern "C" {
__global__ void large_parameters(int *p, Large large, char c) { *p = large.words[*p] + c; }
__global__ void BOUNDS largest_cluster(int *p) { *p = 1; }
}
