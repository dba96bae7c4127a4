// Whether this is a sanitizer's build, by either compiler: OCTAVO_SANITIZED is defined then. Part of tests/support/.
#ifndef OCTAVO_TESTS_SUPPORT_SANITIZERS_H_
#define OCTAVO_TESTS_SUPPORT_SANITIZERS_H_

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OCTAVO_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OCTAVO_SANITIZED
#endif
#endif

#endif  // OCTAVO_TESTS_SUPPORT_SANITIZERS_H_
