"""How does a new file take the place of an old one, whatever happens in between?

It is written beside the old one under the same name with ".new" at the end, locked so that there is one writer, brought to
disk, and then renamed: readers meet the old file or the new one. A writer that is killed leaves its ".new" behind, which the
next one writes over.
"""
import contextlib
import os
import stat
from typing import Iterator

from .errors import UsageError

try:
    import fcntl
except ImportError:   # not on every system; there, two writers at once are not kept apart
    fcntl = None


@contextlib.contextmanager
def replacing(path: str) -> Iterator[str]:
    """Gives the path to write to; when the block ends well, that file replaces `path`, otherwise it is removed.

    A link stays one: what is replaced is the file it leads to. Who could not read the old file cannot read the new one.
    Raises `UsageError` if another process is writing the same file.
    """
    remedy = "name a file in a folder that you may write to"
    if not os.path.basename(path) or os.path.isdir(path) or "\0" in path:
        raise UsageError(f"{path!r} cannot be the name of a file; {remedy}")
    path = os.path.realpath(path) if os.path.islink(path) else path
    beside, handle = f"{path}.new", None
    try:
        handle = _locked(beside, path, remedy)
        os.ftruncate(handle, 0)
        if os.path.exists(path):
            os.chmod(beside, stat.S_IMODE(os.stat(path).st_mode) | stat.S_IWUSR)
        yield beside
        os.fsync(handle)
        os.replace(beside, path)
        _sync_folder(os.path.dirname(os.path.abspath(path)))
    except BaseException:
        if handle is not None:   # else it may be another writer's
            with contextlib.suppress(FileNotFoundError):
                os.remove(beside)
        raise
    finally:
        if handle is not None:
            os.close(handle)


def _locked(beside: str, path: str, remedy: str) -> int:
    try:
        return _lock(beside, path)
    except OSError as error:
        raise UsageError(f"{path!r} cannot be written ({error.strerror}); {remedy}") from error


def _lock(beside: str, path: str) -> int:
    """The handle of the file to write, locked until it is closed or this process ends."""
    while True:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise UsageError(f"another process is writing {path!r}; wait until it has finished") from None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(beside)):
                return handle
        os.close(handle)   # the writer before us has renamed it in the meantime


def _sync_folder(folder: str) -> None:
    """Bring the renaming to disk, where a folder can be opened for that."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
