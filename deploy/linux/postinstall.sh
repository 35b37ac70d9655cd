#!/bin/sh
# After the package was installed or upgraded, deb and rpm alike: the service's user and its
# directory are there, and a service that runs is the new program. None is started that was not.
set -e
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers troupe.conf
elif ! getent passwd troupe >/dev/null; then
	useradd --system --home-dir /srv/troupe --no-create-home --shell /usr/sbin/nologin troupe
fi
if command -v systemd-tmpfiles >/dev/null; then
	systemd-tmpfiles --create troupe.conf
elif [ ! -d /srv/troupe ]; then
	install -d -m 0750 -o troupe -g troupe /srv/troupe
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart troupe.service
fi
