"""The verbs of code evolution and the research archive."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from doxa.app.checks import folder_outside
from doxa.app.sessions.agent.spine import _form, _listed
from doxa.app.sessions.agent.standing import StandingVerbs
from doxa.belief import Kref
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.agent.evolution.bundles import ResearchBundle
    from doxa.agent.evolution.refiner import Refined
    from doxa.agent.evolution.scaffolds import Scaffold


class EvolutionVerbs(StandingVerbs):
    """Made by Session, like the other verbs."""

    def scaffold_propose(
        self,
        change: str,
        *,
        change_type: str,
        target: str,
        evidence: Iterable[str],
        expected_effect: str,
        verification: str,
        rollback: str,
        risk: str = "medium",
        agent: str = "",
        project: str | None = None,
    ) -> Scaffold:
        """Propose a change of how the agent works, with evidence, verification and a way back.

        Nothing changes by it, whatever is decided about it.
        """
        from doxa.agent.evolution.scaffolds import propose
        from doxa.agent.evolution.types import ScaffoldBody

        arguments.text(change, "change")
        said = _form(
            ScaffoldBody,
            {
                "change_type": change_type,
                "target": target,
                "evidence": arguments.texts(evidence, "evidence"),
                "expected_effect": expected_effect,
                "verification": verification,
                "rollback": rollback,
                "risk": risk,
            },
        )
        with self._store.write(self.identity, op="scaffold") as tx:
            return propose(
                tx,
                project=self._where(project),
                agent=self._agent(agent),
                change=change,
                said=said,
            )

    def scaffolds(
        self,
        *,
        states: Iterable[str] = (),
        agent: str = "",
        project: str | None = None,
        limit: int = 50,
    ) -> list[Scaffold]:
        """List the proposals of an agent."""
        from doxa.agent.evolution.scaffolds import list_scaffolds

        with self._store.read() as snapshot:
            return list_scaffolds(
                snapshot,
                project=self._where(project),
                agent=self._agent(agent),
                states=arguments.texts(states, "states"),
                limit=_listed(limit),
            )

    def scaffold_decide(
        self, scaffold: str | Kref, decision: str, *, content_hash: str = "", why: str = ""
    ) -> Scaffold:
        """Accept, reject or roll back a proposal, as an operator; an agent may withdraw its own.

        Accepting takes the content hash.
        """
        from doxa.agent.evolution.scaffolds import decide_scaffold

        for given, name in (
            (str(scaffold), "scaffold"),
            (decision, "decision"),
            (content_hash, "content_hash"),
            (why, "why"),
        ):
            arguments.text(given, name)
        with self._store.write(self.identity, op="scaffold") as tx:
            return decide_scaffold(tx, str(scaffold), decision, content_hash=content_hash, why=why)

    def refine(
        self, *, dry_run: bool = True, agent: str = "", project: str | None = None
    ) -> Refined:
        """Score how an agent works, from its outcomes, and name the failures that come again.

        Without `dry_run`, a proposal is written for each of them.
        """
        from doxa.agent.evolution.scaffolds import draft, refine_outcomes

        arguments.flags(dry_run=dry_run)
        where, who = self._where(project), self._agent(agent)
        if dry_run:
            with self._store.read() as snapshot:
                return refine_outcomes(snapshot, project=where, agent=who)
        with self._store.write(self.identity, op="refine") as tx:
            found = refine_outcomes(tx, project=where, agent=who)
            return draft(tx, project=where, agent=who, refined=found)

    def bundle_export(
        self,
        folder: str | Path,
        *,
        kinds: Iterable[str] = (),
        agent: str = "",
        project: str | None = None,
    ) -> ResearchBundle:
        """Write a redacted research bundle to a new folder, as an operator, with its manifest.

        It is not approved for training: `bundle_approve` does that, for one bundle.
        """
        from doxa.agent.evolution.bundles import export_bundle, write_files

        place = folder_outside(folder, "folder", self._store)
        with self._store.write(self.identity, op="bundle_export") as tx:
            made, texts = export_bundle(
                tx,
                project=self._where(project),
                agent=self._agent(agent),
                folder=place,
                kinds=arguments.texts(kinds, "kinds"),
            )
        write_files(place, texts)
        self._store.note_copy(place, kind="export")
        return made

    def bundle_approve(
        self, bundle: str | Kref, manifest_hash: str, *, folder: str | Path | None = None
    ) -> ResearchBundle:
        """Approve one research bundle for training, as an operator, by its manifest's hash.

        With `folder`, the files there are compared with the manifest first.
        """
        from doxa.agent.evolution.bundles import approve_bundle

        arguments.text(str(bundle), "bundle")
        arguments.text(manifest_hash, "manifest_hash")
        place = None if folder is None else arguments.path(folder, "folder")
        with self._store.write(self.identity, op="bundle_approve") as tx:
            return approve_bundle(tx, str(bundle), manifest_hash=manifest_hash, folder=place)
