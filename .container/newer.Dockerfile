# sparkbench for cards from Turing (sm_75) to Blackwell. CUDA 13 has no sm_70: for a V100 take
# volta.Dockerfile. No image has been built of this file yet: the tag of CUDA's image is untried.
#   docker build -f .container/newer.Dockerfile -t sparkbench:newer .
#   docker run --rm --gpus all sparkbench:newer sweep --preset paper-forward
ARG CUDA=13.0.1

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
       "-DCMAKE_CUDA_ARCHITECTURES=75;80;90;100;120" \
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
