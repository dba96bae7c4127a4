// A plugin of qemu-user: how many instructions a program executes on all of its threads, between its calls of getppid, which nothing else calls by itself, and
// in all. Compiled and used by arm64_instructions.py.
//   gcc -shared -fPIC -O2 -o count.so count_instructions.c && qemu-aarch64 -d plugin -D FILE -plugin ./count.so PROGRAM...
#include <stdint.h>
#include <stdio.h>

// What is used of version 1 of QEMU's interface for plugins (docs/devel/tcg-plugins), so that its header is not needed.
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
enum { ADD_U64 = 0 };
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb*));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb*, int, void*, uint64_t);
extern void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, unsigned, int64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                                                            uint64_t, uint64_t, uint64_t, uint64_t));
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void*), void*);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb*);
extern void qemu_plugin_outs(const char*);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

enum { GETPPID = 173 };  // of Linux on aarch64
static uint64_t instructions, at_last_call;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &instructions, qemu_plugin_tb_n_insns(block));
}

static void print(const char* what, uint64_t count) {
  char line[64];
  snprintf(line, sizeof line, "%s %llu\n", what, (unsigned long long)count);
  qemu_plugin_outs(line);
}

static void called(qemu_plugin_id_t id, unsigned thread, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                   uint64_t a7, uint64_t a8) {
  (void)id, (void)thread, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
  if (number != GETPPID) return;
  print("between", instructions - at_last_call);
  at_last_call = instructions;
}

static void ended(qemu_plugin_id_t id, void* unused) {
  (void)id, (void)unused;
  print("instructions", instructions);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void* info, int count, char** arguments) {
  (void)info, (void)count, (void)arguments;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_vcpu_syscall_cb(id, called);
  qemu_plugin_register_atexit_cb(id, ended, NULL);
  return 0;
}
