// ind, ind2: a function that needs many registers and a frame, called only through a pointer, and one with
// another prototype that must not count
typedef int (*F)(int);
typedef float (*G)(float, int);
extern __device__ F tab[2];
extern __device__ G gt;
__global__ void kind(int *p) { p[0] = tab[p[1]](p[2]); }
__global__ void knone(int *p) { p[0] = p[1] + 1; }
