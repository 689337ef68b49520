"""Groups of verbs that list something if no verb is given."""

from __future__ import annotations

import click

from elephan.scenario.words import hint

LIST = "list"


class ListedGroup(click.Group):
    """Verbs about things of one kind; without a verb, the command lists the things."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert ``list`` if there is no verb."""
        if not ctx.resilient_parsing and (not args or (args[0].startswith("-") and args[0] not in ("-h", "--help"))):
            args = [LIST, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order in which they are defined."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or name the most similar verb."""
        if args[0] not in self.commands and ctx.resilient_parsing:
            return None, None, args  # a shell asks for completions
        if args[0] not in self.commands:
            advice = f"{hint(args[0], self.commands)}{self.advice(args[0])}"
            raise click.UsageError(f"'{args[0]}' is not one of its verbs; {advice}", ctx)
        return super().resolve_command(ctx, args)

    def advice(self, word: str) -> str:
        """More advice for a word that is not a verb."""
        return ""
