// A host program, as those that only call libraries are.
int main() {}
