# A static binary and nothing else: no shell, no libc, not root.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -tags nomsgpack -ldflags "-s -w -X main.version=${VERSION}" -o /fakellm ./cmd/fakellm

FROM scratch
COPY --from=build /fakellm /fakellm
USER 65532:65532
ENV FAKELLM_HOST=0.0.0.0
EXPOSE 8000
ENTRYPOINT ["/fakellm"]
CMD ["serve"]
