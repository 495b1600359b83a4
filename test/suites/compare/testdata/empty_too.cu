// Another file without device code.
int helper() { return 1; }
