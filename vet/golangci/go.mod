module github.com/stepwell/stepwell/vet/golangci

go 1.26.0

require (
	github.com/golangci/plugin-module-register v0.1.2
	github.com/stepwell/stepwell/vet v0.1.0
	golang.org/x/tools v0.52.0
)

replace github.com/stepwell/stepwell/vet => ..
