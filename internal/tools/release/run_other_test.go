//go:build !linux

package release

import (
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func runIn(t *testing.T, _ v1.Image, platform string, _ map[string][]byte, _ said) {
	t.Logf("NOT RUN: %s, as this is no Linux", platform)
}
