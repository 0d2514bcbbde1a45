package sqlite

import "golang.org/x/sys/unix"

// networkFS names the file system of a directory where it is one of a network.
func networkFS(dir string) (name string, network bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return "", false
	}
	switch uint32(s.Type) {
	case unix.NFS_SUPER_MAGIC:
		return "NFS", true
	case unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return "SMB", true
	case unix.V9FS_MAGIC:
		return "9p", true
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return "AFS", true
	case unix.CEPH_SUPER_MAGIC:
		return "Ceph", true
	case unix.CODA_SUPER_MAGIC, unix.NCP_SUPER_MAGIC:
		return "network", true
	}
	return "", false
}
