package kit

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// AppQueue is the queue of the messages to the apps of a deployment of Workflow DevKit. What cannot stand in its name
// is replaced, and then a hash tells it from others.
func AppQueue(deployment string) string {
	const prefix = "wdk."
	s := strings.Trim(notInQueues.ReplaceAllString(deployment, "-"), "-")
	if most := world.MaxWorkflowName - len(prefix); s != deployment || len(s) > most {
		sum := sha256.Sum256([]byte(deployment))
		hash := hex.EncodeToString(sum[:6])
		s = strings.TrimPrefix(s[:min(len(s), most-len(hash)-1)]+"-"+hash, "-")
	}
	return prefix + s
}

var notInQueues = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
