# docker build -t exhume . && docker run --rm -v "$PWD:/data" exhume recover x.npy y.npy --out result
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends make
WORKDIR /src
COPY . .
RUN make deb JOBS="$(nproc)"

FROM debian:12-slim
COPY --from=build /src/dist/*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/exhume_*.deb && rm -rf /tmp/*.deb /var/lib/apt/lists/*
WORKDIR /data
ENTRYPOINT ["exhume"]
