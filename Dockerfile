# An image as `make image` makes it without a container engine, for those who have one:
#
#   docker build --build-arg VERSION=v0.1.0 -t cardea:v0.1.0 .
FROM golang:1.27 AS build
ARG VERSION=dev
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
    -ldflags "-s -w -X cardea.dev/cardea/internal/ops/cli.stamp=$VERSION" -o /cardea ./cmd/cardea

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /cardea /cardea
USER 65532:65532
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
ENTRYPOINT ["/cardea"]
