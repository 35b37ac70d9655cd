#!/bin/sh
# After the package was removed. /srv/troupe, with all that was said and saved, stays, and so
# does its user.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl daemon-reload
	fi
	;;
esac
