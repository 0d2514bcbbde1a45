package stepwell

// What this program's build is called in the log.

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/stepwell/stepwell/internal/replay"
)

// thisBuild names the program: the short commit that it was built from. Where that does not tell what is in it, as it
// was built with changes that are in no commit, or from none that is known, a sum of the executable stands behind.
var thisBuild = sync.OnceValue(func() string {
	rev := revision()
	if rev != "" && !strings.HasSuffix(rev, replay.Changed) {
		return rev
	}
	sum, err := sumOfExecutable()
	if err != nil {
		return rev
	}
	return cmp.Or(rev, "unstamped") + "." + sum
})

// sumOfExecutable tells one executable from another. It is read once, which takes some milliseconds.
func sumOfExecutable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	_, err = io.Copy(sum, f)
	return fmt.Sprintf("%08x", sum.Sum32()), errors.Join(err, f.Close())
}

// revision is the short commit that the program was built from, or "". One that was built with changes says so.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	rev := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 7:
			rev = s.Value[:7]
		case s.Key == "vcs.modified" && s.Value == "true": // it comes behind
			rev += replay.Changed
		}
	}
	return rev
}
