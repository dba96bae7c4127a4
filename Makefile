# The front door. `make` alone says what there is.
.DEFAULT_GOAL := help
.PHONY: help deps build arm64 arm64-runtime cuda demo test test-arm64 test-arm64-smoke test-asan test-tsan test-long wheel wheel-arm64 test-python check-format bench peers fuzz format tidy clean

help:            ## this list
	@grep -hE '^[a-z0-9-]+: .*##|^[a-z0-9-]+: *##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):[^#]*## */  make \1\t/' | expand -t 20

deps:            ## install the Debian packages that are missing (root or sudo)
	@scripts/install-packages.sh

build/build.ninja: CMakeLists.txt CMakePresets.json $(wildcard cmake/*.cmake) | deps
	cmake --preset release >build.log 2>&1 || { cat build.log; exit 1; }
	@mv build.log build/configure.log

build: deps build/build.ninja   ## build everything into build/; the program is build/bin/octavo
	cmake --build build

arm64:           ## cross build the program, the runtime library and what tests it for aarch64 Linux into build/arm64/ (docs/arm.md)
	scripts/install-arm64.sh
	cmake --preset arm64 >/dev/null
	cmake --build build/arm64 --target octavo answer_picture kernels_tests

arm64-runtime:   ## the library that only runs models, for phones: by clang, without exceptions (docs/arm.md)
	scripts/install-arm64.sh
	scripts/install-packages.sh packages-fuzz.txt
	cmake --preset arm64-runtime >/dev/null
	cmake --build build/arm64-runtime
	scripts/runtime-size.sh build/arm64-runtime/lib/liboctavo_runtime.so

cuda:            ## liboctavo_cuda.so by nvcc, into build/cuda/lib, and what its kernels are made of (no device needed; docs/cuda.md)
	scripts/install-cuda.sh
	cmake --preset cuda >/dev/null
	cmake --build build/cuda --target octavo_cuda_image
	scripts/cuda_kernels.py build/cuda

demo: deps build/build.ninja    ## build the program and show it at work (five minutes on two cores)
	cmake --build build --target octavo
	scripts/demo.sh build/bin/octavo

test: build      ## build and run every test
	scripts/run-tests.sh build -LE long

test-arm64: build ## conformance, kernels and whole models for aarch64, under qemu-user as four processors (hours; what has passed is not run again)
	scripts/test-arm64-whole.sh

test-arm64-smoke: build ## the library for phones, its size, and small models under qemu-user: minutes (docs/arm.md)
	scripts/test-arm64-smoke.sh

test-asan: build ## the tests under address and undefined-behaviour sanitizers, by clang with assertions, and a minute of each fuzz target
	scripts/install-packages.sh packages-fuzz.txt
	cmake --preset asan-ubsan >/dev/null
	cmake --build build/asan-ubsan
	PRESET=asan-ubsan scripts/fuzz.sh 60
	scripts/run-tests.sh build/asan-ubsan -LE 'long|slow'

test-tsan: deps  ## the tests of what runs on threads, under the thread sanitizer
	cmake --preset tsan >/dev/null
	cmake --build build/tsan
	scripts/run-tests.sh build/tsan -LE 'long|slow'

test-long: build ## sweeps, soaks, fuzzing and aarch64 under qemu-user; takes hours (the Python package beside torch where OCTAVO_LONG_PYTHON has it, after make wheel)
	scripts/run-tests.sh build -L long
	scripts/test-python-long.sh
	scripts/test-python-asan.sh
	scripts/test-arm64-whole.sh
	$(MAKE) fuzz

wheel: deps build/build.ninja  ## the Python package's wheels, into build/wheels
	@scripts/install-packages.sh packages-python.txt
	scripts/wheel.sh

wheel-arm64: build ## the wheel for aarch64 and CPython 3.11 by cross build, into build/wheels-arm64, run under qemu-user (docs/arm.md)
	scripts/wheel-arm64.sh

test-python: deps build/build.ninja  ## build the wheels, install them into fresh environments and run the package's tests there
	@scripts/install-packages.sh packages-python.txt
	scripts/test-python.sh

bench: build     ## microbenchmarks: kernels as a share of the machine's peak, handing work to threads
	build/bin/conv_bench
	build/bin/pool_bench

peers: build     ## against ONNX Runtime, OpenVINO and LiteRT on the same networks, in turns (downloads them from PyPI; an hour and more), a sentence embedder included
	python3 bench/peers/run.py --octavo build/bin/octavo --networks resnet18 resnet50 mobilenet_v2 efficientnet_v2_s vgg16 --batch 1 64 --threads 1 2
	bench/peers/sentences.sh build/bin/octavo

fuzz: deps       ## ten minutes (FUZZ_SECONDS=600) of each fuzz target, with executions per second and coverage
	scripts/install-packages.sh packages-fuzz.txt
	scripts/fuzz.sh $(FUZZ_SECONDS)

check-format: deps  ## an error where clang-format would change a source
	git ls-files '*.h' '*.cpp' '*.cu' | xargs clang-format --dry-run -Werror

format:          ## lay out the sources with clang-format
	git ls-files '*.h' '*.cpp' '*.cu' | xargs clang-format -i

tidy: build      ## clang-tidy over src/
	git ls-files 'src/*.cpp' | xargs -P $$(nproc) -n 4 clang-tidy -p build --quiet

clean:           ## remove build/ and what wheels were built in
	rm -rf build build-cp*
