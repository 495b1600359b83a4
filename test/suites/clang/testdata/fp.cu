// Square roots, a division and a multiply-add, on which options of precision act.
extern "C" __global__ void k(float* out, float a, float b, float c) {
  out[0] = sqrtf(a);             // libdevice's, which asks for the options of the link
  out[1] = __builtin_sqrtf(b);   // LLVM's own
  out[2] = a / b;
  out[3] = a * b + c;
}
