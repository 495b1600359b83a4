// r4_virt: virtual functions, new/delete
struct B {
  __device__ virtual int f(int) = 0;
  __device__ virtual ~B() {}
};
struct D1 : B {
  __device__ int f(int x) override { return x + 1; }
};
struct D2 : B {
  __device__ int f(int x) override { return x * 2; }
};
__global__ void kv(int *p) {
  B *b = p[0] ? (B *)new D1 : (B *)new D2;
  p[1] = b->f(p[2]);
  delete b;
}
