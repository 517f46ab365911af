# sparkbench for a V100, and for every newer card too: CUDA 12.9 is the last that compiles for
# sm_70. No image has been built of this file yet: the tag of CUDA's image is untried.
#   docker build -f .container/volta.Dockerfile -t sparkbench:volta .
#   docker run --rm --gpus all sparkbench:volta sweep --preset paper-forward
ARG CUDA=12.9.1

FROM nvidia/cuda:${CUDA}-devel-ubuntu24.04 AS build
# The packages of harness/bootstrap.sh, in the versions that this release of Ubuntu has.
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
       g++ cmake ninja-build libfmt-dev nlohmann-json3-dev libcli11-dev libboost-context-dev \
       libtomlplusplus-dev git \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /sparkbench
COPY . .
RUN cmake -S . -B /build -G Ninja -DSPARKBENCH_TESTS=OFF \
       "-DCMAKE_CUDA_ARCHITECTURES=70;75;80;90" \
    && cmake --build /build --target sparkbench

FROM nvidia/cuda:${CUDA}-runtime-ubuntu24.04
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
       libfmt9 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /build/harness/sparkbench /usr/local/bin/sparkbench
WORKDIR /runs
ENTRYPOINT ["sparkbench"]
CMD ["--help"]
