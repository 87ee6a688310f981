//! A machine with nothing on it.

use toolgate_effects::Scene;
use toolgate_model::EmptyWorld;

/// A shell on it.
pub const SCENE: Scene<'_> = Scene {
    world: &EmptyWorld,
    cwd: Some("/w"),
    root: None,
    home: Some("/h"),
    tmp: Some("/tmp"),
    unset: &|_| true,
};
