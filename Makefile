# make check   what every change must pass: formatting, vet, staticcheck, unit tests with the race detector
# make ci      everything, with NVIDIA's real tools: .ci/run (about an hour)
# make releases  the suites that compare with nvlink, with the toolkits 13.1 to 13.3; writes docs/releases.md
# make build   the programs, ./warpld and ./warpld-remote
# make install the program, to $(DESTDIR)$(PREFIX)/bin, with its man page

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
PREFIX = /usr/local

.PHONY: build check ci format install lint race releases test vet

build:
	CGO_ENABLED=0 go build -trimpath -o . ./cmd/...

check: format vet lint race

format:
	@unformatted=$$(gofmt -l .) && { [ -z "$$unformatted" ] || { echo "not formatted by gofmt:" $$unformatted; exit 1; }; }

vet:
	go vet ./...
	go vet -tags realtools ./...

lint:
	go run $(STATICCHECK) ./...
	go run $(STATICCHECK) -tags realtools ./...

# The race detector needs a C compiler.
race:
	CGO_ENABLED=1 go test -race ./...

test:
	go test ./...

ci:
	.ci/run

# Toolkits and corpora are kept in $WARPLD_TOOLS, ~/.cache/warpld-ci if unset.
releases:
	test/tools/releases/run 13.1 13.2 13.3 -page docs/releases.md

install: build
	install -D -m 755 warpld $(DESTDIR)$(PREFIX)/bin/warpld
	install -D -m 755 warpld-remote $(DESTDIR)$(PREFIX)/libexec/warpld/warpld-remote
	install -D -m 644 docs/warpld.1 $(DESTDIR)$(PREFIX)/share/man/man1/warpld.1
