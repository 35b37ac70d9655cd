#!/bin/sh
# Before the package is removed (deb: remove, rpm: 0 packages are left): the service ends. An
# upgrade leaves it running.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now troupe.service
	fi
	;;
esac
