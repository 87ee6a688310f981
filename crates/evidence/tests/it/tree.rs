//! The tree is that of everybody else: the published vectors of Certificate Transparency, and another implementation.

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use ct_merkle::{InclusionProof, RootHash};
use proptest::prelude::*;
use sha2::Sha256;
use toolgate_evidence::Digest;
use toolgate_evidence::proof::{Frontier, leaf_hash, root_of_path};

/// The leaves and the roots that Certificate Transparency's own implementations are tested with.
const LEAVES: [&str; 8] =
    ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
const ROOTS: [&str; 9] = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(text.get(at..at + 2).unwrap(), 16).unwrap())
        .collect()
}

fn frontier(leaves: &[Vec<u8>]) -> Frontier {
    let mut tree = Frontier::default();
    for leaf in leaves {
        tree.push(leaf_hash(leaf), |_, _| {});
    }
    tree
}

#[test]
fn the_roots_are_the_published_ones() {
    let leaves: Vec<_> = LEAVES.iter().map(|leaf| unhex(leaf)).collect();
    for (size, root) in ROOTS.iter().enumerate() {
        assert_eq!(frontier(&leaves[..size]).root().hex(), *root, "{size} leaves");
    }
}

/// The other implementation's proof, as our hashes.
fn path(tree: &MemoryBackedTree<Sha256, Vec<u8>>, index: usize) -> Vec<Digest> {
    let proof = tree.prove_inclusion(index);
    let hash = |bytes: &[u8]| serde_json::from_value(serde_json::json!(bytes)).unwrap();
    proof.as_bytes().chunks(32).map(hash).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn roots_and_proofs_are_those_of_another_implementation(size in 1_usize..700, at in 0_usize..700) {
        let index = at % size;
        let leaves: Vec<Vec<u8>> = (0..size).map(|number| format!("line {number}").into_bytes()).collect();
        let mut theirs = MemoryBackedTree::<Sha256, Vec<u8>>::new();
        for leaf in &leaves {
            theirs.push(leaf.clone());
        }
        let ours = frontier(&leaves);
        let root = ours.root();
        prop_assert_eq!(unhex(&root.hex()), theirs.root().as_bytes().to_vec());
        let path = path(&theirs, index);
        let (at, size) = (index as u64, size as u64);
        let leaf = leaf_hash(&leaves[index]);
        prop_assert_eq!(root_of_path(at, size, leaf, &path), Some(root));
        prop_assert_ne!(root_of_path(at, size, leaf_hash(b"another"), &path), Some(root));
        prop_assert_eq!(root_of_path(size, size, leaf, &path), None);
        if let Some((_, shorter)) = path.split_last() {
            prop_assert_eq!(root_of_path(at, size, leaf, shorter), None);
        }
    }
}

/// Our proof, from tiles on the disk, is one that the other implementation believes.
#[test]
fn the_proofs_from_tiles_are_believed_by_another_implementation() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    crate::support::filled(dir, 700);
    toolgate_evidence::proof::seal(dir, std::time::SystemTime::now(), false).unwrap();
    let text = String::from_utf8(crate::support::bytes(dir)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for seq in [1, 2, 255, 256, 257, 512, 513, 700, 701] {
        let proved = toolgate_evidence::proof::prove(dir, seq).unwrap();
        assert_eq!(proved.line, lines[usize::try_from(seq).unwrap() - 1].as_bytes());
        let text = proved.proof.to_string();
        let hashes: Vec<u8> = proved.proof.path.iter().flat_map(|hash| unhex(&hash.hex())).collect();
        let proof = InclusionProof::<Sha256>::try_from_bytes(hashes).unwrap();
        let checkpoint = &proved.proof.checkpoint;
        assert_eq!(checkpoint.size, 701);
        let root: [u8; 32] = unhex(&checkpoint.root.hex()).try_into().unwrap();
        let root = RootHash::<Sha256>::new(root.into(), checkpoint.size);
        root.verify_inclusion(&proved.line, seq - 1, &proof).unwrap();
        assert!(root.verify_inclusion(&b"another".to_vec(), seq - 1, &proof).is_err());
        assert_eq!(toolgate_evidence::proof::InclusionProof::parse(&text).unwrap(), proved.proof);
    }
}
