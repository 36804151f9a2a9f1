"""Prompts that ask nothing: they bring nothing in, and leave no request open."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+")
_TRIVIAL = frozenset(
    "ok okay yes yep yeah no nope y n sure thanks thank you please go on continue ahead do it done"
    " good great nice cool fine right next again stop wait proceed lgtm hi hello hey hm hmm retry"
    " ja nein danke weiter gut oui non merci continuer si sí gracias sigue vale bien"
    " 好 好的 是 是的 不 谢谢 继续".split()
)
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def is_trivial(prompt: str) -> bool:
    """Return whether a prompt asks nothing that memory could help with: an assent, a command of the
    host, or a word or two."""
    text = prompt.strip()
    if text[:1] in ("/", "!", "#"):
        return True
    words = [word.casefold() for word in _WORD.findall(text)]
    said = [word for word in words if word not in _TRIVIAL]
    return len(said) < 2 and len(_WIDE.findall("".join(said))) < 4
