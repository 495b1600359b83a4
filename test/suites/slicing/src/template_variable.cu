// A static variable of a template: reader must see what writer stores. alone is there so
// that the program is cut.
template <class T> __device__ int counter(bool set, int value) {
  static int count = 5;
  if (set) count = value;
  return count;
}

extern "C" __global__ void reader(int *out) { *out = counter<int>(false, 0); }
extern "C" __global__ void writer(int *out, int n) { *out = counter<int>(true, n); }
extern "C" __global__ void alone(int *out) { *out = 7; }

int main() {
  reader<<<1, 1>>>(nullptr);
  writer<<<1, 1>>>(nullptr, 1);
  alone<<<1, 1>>>(nullptr);
}
