// r6_tex: texture/surface objects, managed var
__managed__ int mv = 3;
__global__ void kt(cudaTextureObject_t t, cudaSurfaceObject_t s, float *p) {
  p[0] = tex2D<float>(t, 1.f, 2.f) + mv;
  surf2Dwrite(p[1], s, 4, 5);
}
